"""A process that publishes in forked children, each killed at another file operation. Run by test_weights.py.

Argument: a folder. For N = 1, 2, ... a child publishes version "new" into <folder>/N, where version "old" is, and is
killed just before its N-th file operation, until one comes through.
"""

import itertools
import os
import signal
import sys
from pathlib import Path

from pipeline.publishing.weights import publish_weights
from tests.zoo.cards.training_records import record

WATCHED = ("os.", "open")


def published(folder: Path, weights: bytes) -> Path:
    """The weights' file of a publication."""
    file = folder / "x.safetensors"
    publish_weights(file, record(weights).to_json(), weights)
    return file


def kill_at(count: int) -> None:
    operations = itertools.count(1)

    def watch(event: str, _arguments: object) -> None:
        if event.startswith(WATCHED) and next(operations) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def main(folder: Path) -> None:
    for count in itertools.count(1):
        published(folder / str(count), b"old")
        pid = os.fork()
        if pid == 0:
            kill_at(count)
            published(folder / str(count), b"new")
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
