"""What these tests register from outside is known for their time alone: other tests list what there is."""

from collections.abc import Iterator

import pytest

from zoo.input_kinds import registry as kinds
from zoo.tasks import known_tasks
from zoo.tasks import registry as tasks

REGISTRIES = (tasks._TASKS, kinds._KINDS)
registered: dict[str, list[dict[str, object]]] = {}
"""By module of tests, for each registry; a module of Python registers once, when it is imported first."""


@pytest.fixture(scope="module", autouse=True)
def registries_as_before(request: pytest.FixtureRequest) -> Iterator[None]:
    known_tasks()  # zooport's own
    kinds.input_kind("image")  # this imports all of zooport's own
    before = [dict(registry) for registry in REGISTRIES]
    for registry, entries in zip(REGISTRIES, registered.get(request.module.__name__, []), strict=False):
        registry.update(entries)  # type: ignore[call-overload]
    yield
    registered[request.module.__name__] = [
        {name: entry for name, entry in registry.items() if name not in known}
        for registry, known in zip(REGISTRIES, before, strict=True)
    ]
    for registry, known in zip(REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(known)  # type: ignore[arg-type]
