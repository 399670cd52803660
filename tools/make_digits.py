"""Makes a split of the digits data set: images, label maps and COCO annotations, the same ones on every run."""

import argparse
import sys
import traceback
from pathlib import Path

from zoo.datasets import DigitsSegmentation
from zoo.datasets.digits_contact_sheet import draw_contact_sheet
from zoo.datasets.digits_scene import SPLITS
from zoo.datasets.digits_split import SPLIT_SIZES, write_split
from zoo.errors import InputError, ZooportError

EXAMPLE = "example: python tools/make_digits.py gate --out work_dirs/data/digits"


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("split", metavar="SPLIT", choices=SPLITS, help="train, val or gate")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the split's folder is made in here")
    parser.add_argument("--count", type=int, metavar="N", help=f"images, by default {SPLIT_SIZES}")
    parser.add_argument("--contact-sheet", type=Path, metavar="F", help="also draw all pictures on one JPEG")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the traceback of an error")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> None:
    """Writes the split. Raises InputError where the folder cannot be written."""
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
    except ModuleNotFoundError as error:
        raise InputError(f"making digits needs {error.name}; install zooport[train]") from error
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {count} images, {size} bytes")


def main() -> int:
    """The exit code."""
    options = parse_arguments()
    try:
        run(options)
    except ZooportError as error:
        if options.verbose:
            traceback.print_exc()
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
