"""Makes a split of the digits data set: images, label maps and COCO annotations, the same ones on every run."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from command_line import Parser, run_tool

from zoo.errors import InputError

EXAMPLE = "example: python tools/make_digits.py gate --out work_dirs/data/digits"
SPLITS = ("train", "val", "gate")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="make_digits.py", description=__doc__, epilog=EXAMPLE)
    flags.add_argument("split", metavar="SPLIT", choices=SPLITS, help="train, val or gate")
    flags.add_argument("--out", type=Path, required=True, metavar="DIR", help="the split's folder is made in here")
    flags.add_argument("--count", type=int, metavar="N", help="images; default: 2000 of train, 64 of val, 512 of gate")
    flags.add_argument("--contact-sheet", type=Path, metavar="F", help="also draw all pictures on one JPEG")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Writes the split. Raises InputError where the folder cannot be written."""
    from zoo.datasets import DigitsSegmentation
    from zoo.datasets.digits_contact_sheet import draw_contact_sheet
    from zoo.datasets.digits_split import SPLIT_SIZES, write_split

    count = SPLIT_SIZES[options.split] if options.count is None else options.count
    if count < 1:
        raise InputError(f"--count {count}: expected 1 or more")
    folder = options.out / options.split
    try:
        for index in write_split(options.split, folder, count):
            end = "\n" if index + 1 == count else ""
            print(f"\r{options.split}: {index + 1}/{count}", end=end, file=sys.stderr, flush=True)
        if options.contact_sheet is not None:
            draw_contact_sheet(DigitsSegmentation(options.split, options.out), options.contact_sheet)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}; give another --out") from error
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {count} images, {size} bytes")
    return {"folder": str(folder), "images": count, "bytes": size}


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run_tool(parser(), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
