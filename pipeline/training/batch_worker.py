"""The process that makes batches, when the training that takes them is interrupted."""

import sys
from types import TracebackType


def without_hang_ups(_worker: int) -> None:
    """A loader's `worker_init_fn`. The worker does not report that a training has hung up.

    A thread of the worker hands the tensors over, and Python prints each error of it. A training that is interrupted
    while it takes a batch leaves such an error, and its traceback would come after the last line of the command.
    """
    report = sys.excepthook

    def report_others(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
        if not isinstance(error, (EOFError, ConnectionError)):
            report(kind, error, frames)

    sys.excepthook = report_others
