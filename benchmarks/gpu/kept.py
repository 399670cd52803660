"""The findings of all stages, in one file of a folder, which goes back as at most 8 files of 16 MiB."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.errors import InputError
from zoo.files.writing import write_whole

FILE = "findings.json"
MOST_FILES = 8
MOST_BYTES = 16 * 2**20


def read_findings(folder: Path) -> dict[str, Any]:
    """The records of stages by name; {} where nothing was run. Raises InputError for a file that is damaged."""
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        records: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not the findings of a run ({error}); copy it again") from error
    return records


def keep_stage(folder: Path, name: str, record: Mapping[str, Any]) -> None:
    """Put one stage's record among the others, in one step. The last run of a stage counts."""
    records = read_findings(folder) | {name: record}
    write_whole(folder / FILE, json.dumps(records, indent=1, allow_nan=False) + "\n", make_folders=True)


def check_room(file: Path) -> None:
    """Raises InputError where this file would be one too many in its folder, beside the findings."""
    others = {path.name for path in file.parent.glob("*")} | {FILE, file.name}
    if len(others) > MOST_FILES:
        raise InputError(f"{file}: its folder has {MOST_FILES} files, and no more are kept; give another --out")


def check_bounds(folder: Path) -> None:
    """Raises InputError where a folder has more files than can be carried back, or a larger one."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    large = [path.name for path in files if path.stat().st_size > MOST_BYTES]
    if large or len(files) > MOST_FILES:
        raise InputError(
            f"{folder}: {len(files)} files, too large: {', '.join(large) or 'none'}; expected at most {MOST_FILES} of "
            f"{MOST_BYTES // 2**20} MiB; give another --out"
        )
