"""What the exit codes of the command line mean: the table that --help prints and docs/deployments.md has."""

from zoo.errors import (
    BackendUnavailableError,
    ExportError,
    GateError,
    InputError,
    SomeInputsFailedError,
    ZooportError,
)

GOOD = 0
OUR_FAULT = ZooportError.exit_code
USER_ERROR = InputError.exit_code
UNAVAILABLE = BackendUnavailableError.exit_code
INTERRUPTED = 130

EXIT_CODES = {
    GOOD: "good",
    OUR_FAULT: "a fault of zooport",
    USER_ERROR: "wrong usage or input, or a file that cannot be read or written",
    GateError.exit_code: "a gate was missed: what was compared is not the same model",
    UNAVAILABLE: "a backend, a device or a library is not available",
    ExportError.exit_code: "the exporter or the backend refused the model",
    SomeInputsFailedError.exit_code: "some inputs failed, and the others are done",
    INTERRUPTED: "interrupted",
}


def format_exit_codes() -> str:
    """The table, as --help shows it."""
    return "\n".join(["exit codes:", *(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())])
