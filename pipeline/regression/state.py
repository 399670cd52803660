"""What can become of a cell."""

from enum import StrEnum

from pipeline.regression.commands import DEPLOY


class State(StrEnum):
    """The values are the words of the table."""

    PASSED = "passed"
    PARITY_MISSED = "parity missed"
    METRIC_MISSED = "metric gate missed"
    NOT_JUDGED = "metric not judged"
    UNAVAILABLE = "backend not available"
    REFUSED = "export refused"
    INPUT = "wrong input"
    FAULT = "fault of zooport"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    EXCLUDED = "excluded"
    NOT_RUN = "not run yet"

    @property
    def kind(self) -> str:
        """One of "good", "bad" and "open": nothing was found out."""
        if self is State.PASSED:
            return "good"
        return "open" if self in (State.EXCLUDED, State.NOT_RUN) else "bad"


BY_EXIT_CODE = {
    1: State.FAULT,
    2: State.INPUT,
    4: State.UNAVAILABLE,
    5: State.REFUSED,
}
GATE_MISSED = 3


def state_of(step: str, code: int) -> State:
    """What the exit code (not 0; below 0 a signal) of a tool says. ``step``: commands.DEPLOY or commands.EVALUATE."""
    if code == GATE_MISSED:
        return State.PARITY_MISSED if step == DEPLOY else State.METRIC_MISSED
    return BY_EXIT_CODE.get(code, State.CRASHED)
