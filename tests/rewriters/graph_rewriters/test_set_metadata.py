"""The model's metadata: sorted, kept, and free of what Ultralytics' loader breaks on."""

import pytest

from tests.rewriters.graph_rewriters.graphs import model, rewritten
from zoo.errors import InputError

GRAPH = "g (float[n] x) => (float[n] y) { y = Relu(x) }"


def test_what_is_there_stays_and_all_is_sorted() -> None:
    before = model(GRAPH)
    for key in ("z", "b"):
        before.metadata_props.add(key=key, value="old")
    after, changes = rewritten(before, {"name": "set_metadata", "props": {"m": "new", "b": "new"}})
    assert [(entry.key, entry.value) for entry in after.metadata_props] == [("b", "new"), ("m", "new"), ("z", "old")]
    assert changes == ["b: new", "m: new"]


def test_only_sorted() -> None:
    before = model(GRAPH)
    for key in ("z", "b"):
        before.metadata_props.add(key=key, value="old")
    assert rewritten(before, {"name": "set_metadata", "props": {"b": "old"}})[1] == ["sorted the keys"]


@pytest.mark.parametrize("key", ["metadata", "forward", "device", "session", ""])
def test_reserved_keys(key: str) -> None:
    with pytest.raises(InputError, match=f'the key "{key}" cannot be used: Ultralytics'):
        rewritten(model(GRAPH), {"name": "set_metadata", "props": {key: "x"}})
