"""What TensorRT says while an engine is loaded and run."""

import logging
from functools import cache
from types import ModuleType
from typing import Any

logger = logging.getLogger(__name__)
KEPT = 3  # of the last errors; the first of them is mostly the cause


def run_log(trt: ModuleType) -> Any:
    """A logger for TensorRT's Runtime. Errors are kept for our own message, warnings go to logging.

    Its method ``reason()`` tells the errors since the last call, on one line. It must live as long as the Runtime.
    """
    return _log_class(trt)()


@cache
def _log_class(trt: ModuleType) -> type[Any]:
    base: type[Any] = trt.ILogger

    class RunLog(base):  # type: ignore[misc]  # TensorRT's bindings have no types
        def __init__(self) -> None:
            base.__init__(self)
            self._errors: list[str] = []

        def log(self, severity: Any, msg: str) -> None:
            if severity in (trt.ILogger.INTERNAL_ERROR, trt.ILogger.ERROR):
                self._errors = [*self._errors, " ".join(msg.split())][:KEPT]
            elif severity == trt.ILogger.WARNING:
                logger.warning("%s: %s", trt.__name__, msg)

        def reason(self) -> str:
            errors, self._errors = self._errors, []
            return "; ".join(errors) or "it gives no reason"

    return RunLog
