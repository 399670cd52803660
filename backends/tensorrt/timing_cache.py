"""Kernel timings that TensorRT has measured, kept for later builds: a file per GPU and version, shared by all builds.

For the backend tensorrt alone: tensorrt-rtx times kernels where an engine runs, and its timing cache is a no-op since
1.2. The file is our own frame, the sha256 of TensorRT's bytes and then these, so that a torn or changed file is found
before the library's native code reads it.
"""

import hashlib
import logging
import re
from collections.abc import Callable
from pathlib import Path

from zoo.cache_folder import cache_folder
from zoo.files.locks import locked
from zoo.files.writing import write_whole

MAGIC = b"zooport timing cache 1\n"
DIGEST_BYTES = hashlib.sha256().digest_size

logger = logging.getLogger(__name__)


def timing_cache_path(module: str, version: str, gpu: str) -> Path:
    """$XDG_CACHE_HOME/zooport/timing/<module>-<version>/<gpu>.cache. Raises InputError where there is no home."""
    folder = cache_folder() / "timing" / f"{module}-{version}"
    return folder / f"{re.sub(r'[^A-Za-z0-9.]+', '-', gpu)}.cache"


def read_timings(path: Path) -> bytes:
    """What the file holds; b"" where there is none. A corrupt one is renamed to <name>.corrupt, with a warning."""
    try:
        framed = path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        logger.warning("timing cache %s: cannot be read (%s); building without it", path, error.strerror)
        return b""
    head = len(MAGIC) + DIGEST_BYTES
    timings = framed[head:]
    if framed[:head] == MAGIC + hashlib.sha256(timings).digest():
        return timings
    set_aside(path, "the file is corrupt")
    return b""


def set_aside(path: Path, reason: str) -> None:
    """Rename the file to <name>.corrupt, with a warning that gives the reason. The build goes on without it."""
    aside = path.with_name(f"{path.name}.corrupt")
    try:
        path.replace(aside)
    except OSError as error:
        logger.warning("timing cache %s: %s, and it cannot be renamed (%s)", path, reason, error.strerror)
    else:
        logger.warning("timing cache %s: %s; set aside as %s, and a new one is started", path, reason, aside.name)


def merge_timings(path: Path, merge: Callable[[bytes], bytes]) -> None:
    """Replace the file by `merge(what it holds)`, as one step; builds that end together wait for each other.

    A file that cannot be written is a warning: the engine does not need it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name(f"{path.name}.lock"), make=True):
            timings = merge(read_timings(path))
            write_whole(path, MAGIC + hashlib.sha256(timings).digest() + timings)
    except OSError as error:
        logger.warning("timing cache %s: cannot be written (%s); later builds will measure again", path, error.strerror)
