"""Two folders change places in one step of the kernel, where it can (Linux: renameat2 with RENAME_EXCHANGE)."""

import ctypes
import errno
import os
from pathlib import Path

AT_FDCWD = -100
RENAME_EXCHANGE = 2
NOT_SUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(first: Path, second: Path) -> bool:
    """Swap two existing paths of one file system atomically. False where kernel, libc or file system cannot.

    Raises OSError for any other failure. Nothing has changed where it raises or gives False.
    """
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    code = renameat2(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), ctypes.c_uint(RENAME_EXCHANGE))
    if code == 0:
        return True
    number = ctypes.get_errno()
    if number in NOT_SUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(first), None, str(second))
