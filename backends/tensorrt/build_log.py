"""TensorRT's log of a build."""

from types import ModuleType
from typing import Any

MAX_LINES = 50  # a broken graph can warn once for each node


def build_log(trt: ModuleType) -> Any:
    """A logger for TensorRT that keeps the `errors` and `warnings` of a build, each one line, none twice."""
    severities = trt.ILogger.Severity
    error_severities = (severities.ERROR, severities.INTERNAL_ERROR)
    warning = severities.WARNING

    class BuildLog(trt.ILogger):  # type: ignore[name-defined, misc]  # the module is found at run time
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.errors: list[str] = []
            self.warnings: list[str] = []

        def log(self, severity: Any, message: str) -> None:
            lines = self.errors if severity in error_severities else self.warnings if severity == warning else None
            line = " ".join(message.split())
            if lines is not None and line not in lines and len(lines) < MAX_LINES:
                lines.append(line)

    return BuildLog()
