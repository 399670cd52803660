"""For every test."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# yapf, which mmengine imports, writes a cache at its first import ever, and not in one step: of two test processes that
# begin together on a fresh machine, one would read half of it. pytest loads this file before it starts them.
import mmengine.config  # noqa: F401
import pytest
from hypothesis import settings

from tests.examples import TEST_ALL
from zoo.entry_points import load_entry_points

# A background job of a shell ignores interrupts, nohup ignores hang-ups, and so would every process that a test starts.
for stop, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(stop) is signal.SIG_IGN:
        signal.signal(stop, usual)

# What is imported and collected is a million objects that stay, and each full search for garbage would go through them.
gc.disable()

SLOW_LIMIT = 3600  # seconds; pyproject.toml has the limit of the other tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A slow test has more time."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT))


def pytest_collection_finish() -> None:
    """From here on garbage is searched for among what the tests make."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Libraries of C++ say at the end what of theirs is left."""
    gc.unfreeze()


# No example is judged by the seconds it takes on a busy machine. Properties that say no number of examples have these.
settings.register_profile("any machine", deadline=None, max_examples=100 if TEST_ALL in os.environ else 12)
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def first_impressions_of_one_call() -> None:
    """The latency in a deploy's report is of one call in each turn, without a pause: no test judges it."""
    from pipeline.proof import latency

    latency.PAUSE = latency.SECONDS = 0.0


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """`install(group, name, module, code)`: a package "outside" with one entry point, for the time of a test.

    Without code, there is no module.
    """
    modules = []

    def install_package(group: str, name: str, module: str, code: str | None = None) -> None:
        folder = tmp_path / "site" / "outside-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
        if code is not None:
            (folder.parent / f"{module}.py").write_text(code)
            modules.append(module)
        monkeypatch.syspath_prepend(folder.parent)
        load_entry_points.cache_clear()

    yield install_package
    load_entry_points.cache_clear()
    for module in modules:
        sys.modules.pop(module, None)
