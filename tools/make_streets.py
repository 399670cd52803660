"""Makes synthetic street scenes of a simulated LiDAR, the same on every run: for the cache, or in KITTI's layout."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import InputError
from zooport.parser import Parser
from zooport.running import run_tool
from zooport.terminal import show_progress, write_line

EXAMPLE = "example: python tools/make_streets.py train --out streets --count 200"
SPLITS = ("train", "gate", "shipped")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="make_streets.py", description=__doc__, epilog=EXAMPLE)
    flags.add_argument("split", metavar="SPLIT", choices=SPLITS, help="train, gate or shipped")
    flags.add_argument(
        "--out", type=Path, metavar="DIR", help="an empty or new folder, written in KITTI's layout; default: the cache"
    )
    flags.add_argument("--count", type=int, metavar="N", help="scenes, with --out; default: 2000, 512 of gate, 16")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Writes the scenes. Raises InputError where they cannot be written."""
    from zoo.datasets.streets.splits import SIZES, TRAIN, ensure_split
    from zoo.datasets.streets.streets import TRAIN_SCENES

    split, count, out = options.split, options.count, options.out
    if out is None:
        if count is not None or split == TRAIN:
            raise InputError(f"{split}{'' if count is None else f' --count {count}'}: also give --out, a folder")
        folder, count = ensure_split(split, show_progress), SIZES[split]
    else:
        folder, count = out, {**SIZES, TRAIN: TRAIN_SCENES}[split] if count is None else count
        write(split, folder, count)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    write_line(f"{folder}: {count} synthetic scenes, {size} bytes")
    return {"folder": str(folder), "scenes": count, "bytes": size}


def write(split: str, folder: Path, count: int) -> None:
    """Scenes as frames of KITTI's layout, whole or not at all."""
    from zoo.datasets.files.whole_folder import replace_folder
    from zoo.datasets.kitti.writing import write_kitti
    from zoo.datasets.streets.as_kitti import frames

    if count < 1:
        raise InputError(f"--count {count}: expected 1 or more")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder, and what is in it would be lost; give another --out")
    try:
        replace_folder(
            folder, lambda staged: write_kitti(staged, split, frames(split, count)), split, count, show_progress
        )
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}; give another --out") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run_tool(parser(), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
