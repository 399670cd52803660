"""What is kept of TensorRT's log, and what is reported. The library is a stand-in."""

import types
from typing import Any

import pytest

from backends.tensorrt.run_log import MAX_LINES, run_log


class Logger:
    """The base class of loggers."""

    INTERNAL_ERROR, ERROR, WARNING, INFO = range(4)


@pytest.fixture
def log() -> Any:
    library: Any = types.ModuleType("tensorrt")
    library.ILogger = Logger
    return run_log(library)


def test_warnings_are_reported_once_each_and_kept(log: Any, caplog: pytest.LogCaptureFixture) -> None:
    for line in ("slow\n here", "slow here", "old"):
        log.log(Logger.WARNING, line)
    log.log(Logger.INFO, "news")
    assert log.warnings == ["slow here", "old"]
    assert [record.getMessage() for record in caplog.records] == ["tensorrt: slow here", "tensorrt: old"]


def test_errors_are_kept_and_the_first_are_the_reason(log: Any) -> None:
    assert log.reason() == "it gives no reason"
    for line in map(str, range(2 * MAX_LINES)):
        log.log(Logger.ERROR, line)
    assert len(log.errors) == MAX_LINES
    assert log.reason() == "0; 1; 2"
    assert log.errors == []
