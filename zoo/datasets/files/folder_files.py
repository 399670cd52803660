"""The files of a folder that carry a pair's name."""

from pathlib import Path

from zoo.datasets.files.faults import Faults


def files_by_name(folder: Path, pattern: str, ending: str, faults: Faults) -> dict[str, Path]:
    """Files of `folder` that match the glob `pattern`, by their path in it without `ending`; none is a fault."""
    if not folder.is_dir():
        faults.missing(folder, "folder")
        return {}
    files = {
        path.relative_to(folder).as_posix().removesuffix(ending): path for path in sorted(folder.glob(pattern + ending))
    }
    if not files:
        faults.add(folder, f"no files {pattern}{ending}")
    return files
