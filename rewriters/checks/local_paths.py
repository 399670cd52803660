"""No path of the machine that exported the file may be in it: it leaks, and two machines would write two files."""

import sys
import sysconfig
from pathlib import Path

from zoo.errors import ExportError

MIN_PARTS = 3  # "/" and "/root" say nothing of a machine, and may stand in any text


def check_local_paths(content: bytes) -> None:
    """Raises ExportError where the working folder, the home folder or the Python installation is named."""
    folders = {Path.cwd(), Path.home(), Path(sys.prefix), Path(sys.base_prefix), Path(sysconfig.get_path("purelib"))}
    for folder in sorted(folders):
        if len(folder.parts) >= MIN_PARTS and str(folder).encode() in content:
            raise ExportError(f"the exported file holds the local path {folder}; this is a fault of zooport, report it")
