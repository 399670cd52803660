"""The error of a missed gate, with all that was measured."""

from pipeline.parity.meaning import meaning
from pipeline.parity.records import ParityRecord
from zoo.errors import GateError


class ParityMissedError(GateError):
    """Parity failed and nothing was published; ``record`` says how, ``data`` the same for --json."""

    def __init__(self, record: ParityRecord) -> None:
        more = f" (and {n} more)" if (n := len(record.failures) - 1) else ""
        means = f": {reason}" if (reason := meaning(record)) else ""
        super().__init__(
            f"{record.failures[0]}{more}{means}; nothing was published. tools/align.py names the first module that "
            "differs; --allow-parity-failure publishes it all the same, and the manifest says so"
        )
        self.record = record
        self.data = {"deployment": None, "parity": record.to_dict()}
