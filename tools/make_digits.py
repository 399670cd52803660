"""Makes a split of the digits data set: images, label maps and COCO annotations, the same ones on every run."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import InputError
from zooport.parser import Parser
from zooport.running import run_tool
from zooport.terminal import show_progress, write_line

EXAMPLE = "example: python tools/make_digits.py gate"
SPLITS = ("train", "val", "gate")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="make_digits.py", description=__doc__, epilog=EXAMPLE)
    flags.add_argument("split", metavar="SPLIT", choices=SPLITS, help="train, val or gate")
    flags.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="the split's folder is made in here; default: the cache, where the data sets look, and made only once",
    )
    flags.add_argument(
        "--count", type=int, metavar="N", help="images, with --out; default: 2000 of train, 64 of val, 512 of gate"
    )
    flags.add_argument("--contact-sheet", type=Path, metavar="F", help="also draw all images on one JPEG")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Writes the split, and the contact sheet. Raises InputError where one cannot be written."""
    from zoo.datasets.digits.cache import ensure_split, split_folder

    split, count = options.split, options.count
    if count is not None and options.out is None:
        raise InputError(f"--count {count}: the cache holds whole splits; also give --out")
    if count is not None and count < 1:
        raise InputError(f"--count {count}: expected 1 or more")
    folder = split_folder(split, options.out)
    if options.out is None:
        ensure_split(split, show_progress)
    else:
        write(split, folder, count)
    if options.contact_sheet is not None:
        draw(split, options.out, options.contact_sheet)
    images = sum(1 for _ in (folder / "images").iterdir())
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    write_line(f"{folder}: {images} images, {size} bytes")
    return {"folder": str(folder), "images": images, "bytes": size}


def write(split: str, folder: Path, count: int | None) -> None:
    """The split into a folder, in the place of an earlier one."""
    from zoo.datasets.digits.split import SPLIT_SIZES
    from zoo.datasets.digits.whole_split import check_replaceable, replace_split

    check_replaceable(folder)
    try:
        replace_split(split, folder, SPLIT_SIZES[split] if count is None else count, show_progress)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}; give another --out") from error


def draw(split: str, root: Path | None, path: Path) -> None:
    """The contact sheet."""
    from zoo.datasets.digits.contact_sheet import draw_contact_sheet

    try:
        draw_contact_sheet(split, root, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; give another --contact-sheet") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run_tool(parser(), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
