"""The folder beside a plan that it is built in."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from zoo.files.locks import locked


@contextmanager
def scratch_folder(plan: Path) -> Iterator[Path]:
    """A new folder beside the plan, removed at the end.

    A build holds its folder's lock for as long as it lives. So one that nobody holds is of a build that was killed,
    and is removed, too. The lock of the folder around them leaves no file of ours in it.
    """
    prefix = f".{plan.name}.building-"
    with ExitStack() as held:
        with locked(plan.parent):
            for left in plan.parent.iterdir():
                if left.name.startswith(prefix):
                    _remove_unheld(left)
            folder = Path(tempfile.mkdtemp(dir=plan.parent, prefix=prefix))
            held.enter_context(locked(folder))
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def _remove_unheld(folder: Path) -> None:
    """A folder that is held, or is gone by now because its build has ended, stays as it is."""
    with suppress(BlockingIOError, FileNotFoundError), locked(folder, wait=False):
        shutil.rmtree(folder, ignore_errors=True)
