"""For every test."""

import signal

# yapf, which mmengine imports, writes a cache at its first import ever, and not in one step: of two test processes that
# begin together on a fresh machine, one would read half of it. pytest loads this file before it starts them.
import mmengine.config  # noqa: F401
import pytest
from hypothesis import settings

# A background job of a shell ignores interrupts, nohup ignores hang-ups, and so would every process that a test starts.
for stop, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(stop) is signal.SIG_IGN:
        signal.signal(stop, usual)

SLOW_LIMIT = 3600  # seconds; pyproject.toml has the limit of the other tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A slow test has more time."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT))


settings.register_profile("any machine", deadline=None)  # no example is judged by the seconds it takes on a busy one
settings.load_profile("any machine")
