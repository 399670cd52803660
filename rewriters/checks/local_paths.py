"""No path of the machine that exported the file may be in it: it leaks, and two machines would write two files."""

import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from zoo.errors import ExportError, InputError

MIN_PARTS = 3  # "/" and "/root" say nothing of a machine, and may stand in any text


def check_local_paths(content: bytes, metadata: Mapping[str, str] | None = None) -> None:
    """Raises ExportError where the working folder, the home folder or the Python installation is named.

    `metadata`: what the user has put into the content; raises InputError where it is there.
    """
    for key, text in (metadata or {}).items():
        if (folder := _local_folder(text.encode())) is not None:
            raise InputError(
                f'metadata "{key}" holds the local path {folder}, which must not be in the file; leave it out, or '
                "write a relative path"
            )
    if (folder := _local_folder(content)) is not None:
        raise ExportError(f"the exported file holds the local path {folder}; this is a fault of zooport, report it")


def _local_folder(content: bytes) -> Path | None:
    """The first of this machine's folders that is named."""
    folders = {Path.cwd(), Path.home(), Path(sys.prefix), Path(sys.base_prefix), Path(sysconfig.get_path("purelib"))}
    named = (path for path in sorted(folders) if len(path.parts) >= MIN_PARTS and str(path).encode() in content)
    return next(named, None)
