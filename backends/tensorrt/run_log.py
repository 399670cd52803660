"""What TensorRT says while an engine is built, loaded and run."""

import logging
from functools import cache
from types import ModuleType
from typing import Any

MAX_LINES = 50  # a broken graph can warn once for each node
KEPT = 3  # of the last errors; the first of them is mostly the cause

logger = logging.getLogger(__name__)


def run_log(trt: ModuleType) -> Any:
    """A logger for TensorRT. It keeps `errors` and `warnings`, each one line, none twice; warnings go to logging, too.

    Its method ``reason()`` tells the errors since the last call, on one line. It must live as long as what it was given
    to.
    """
    return _log_class(trt)()


@cache
def _log_class(trt: ModuleType) -> type[Any]:
    base: type[Any] = trt.ILogger

    class RunLog(base):  # type: ignore[misc]  # TensorRT's bindings have no types
        def __init__(self) -> None:
            base.__init__(self)
            self.errors: list[str] = []
            self.warnings: list[str] = []

        def log(self, severity: Any, msg: str) -> None:
            line = " ".join(msg.split())
            if severity in (trt.ILogger.INTERNAL_ERROR, trt.ILogger.ERROR):
                _keep(self.errors, line)
            elif severity == trt.ILogger.WARNING and _keep(self.warnings, line):
                logger.warning("%s: %s", trt.__name__, line)

        def reason(self) -> str:
            errors, self.errors = self.errors[:KEPT], []
            return "; ".join(errors) or "it gives no reason"

    return RunLog


def _keep(lines: list[str], line: str) -> bool:
    """Whether the line is a new one, and there was room."""
    new = line not in lines and len(lines) < MAX_LINES
    if new:
        lines.append(line)
    return new
