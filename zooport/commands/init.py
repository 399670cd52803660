"""Write a config that trains a shipped model on a COCO annotation file of your own."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.errors import InputError
from zooport.parser import Parser
from zooport.terminal import write_line

EXAMPLES = """examples:
  zooport init --data annotations.json --images images --base faster-rcnn_r18-fpn_digits --out shapes.py
  zooport init --data train.json --val val.json --images images --base configs/detection/yolov5n_digits.py

Without --val every fifth image is kept for validation. See docs/own_data.md."""


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport init", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("--data", type=Path, required=True, metavar="F", help="COCO annotations to learn from")
    flags.add_argument("--images", type=Path, required=True, metavar="DIR", help="the folder of their images")
    flags.add_argument(
        "--base", required=True, metavar="CONFIG", help="the config to start from: a shipped one's name, or a file"
    )
    flags.add_argument("--val", type=Path, metavar="F", help="COCO annotations to validate on, in the same folder")
    flags.add_argument("--out", type=Path, metavar="F", help="default: <name of the data's folder>.py")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Writes the config. Raises ZooportError. Its imports are here, for --help."""
    for file in filter(None, (options.data, options.val)):
        if not file.is_file():
            raise InputError(f"{file}: no such file; give COCO annotations")
    if not options.images.is_dir():
        raise InputError(f"--images {options.images}: no such folder; give the folder of the images")
    out = options.out or Path(f"{options.data.resolve().parent.name}.py")
    if out.suffix != ".py":
        raise InputError(f"--out {out}: expected a name that ends in .py")
    if out.exists():
        raise InputError(f"{out}: this file already exists; remove it, or give another --out")
    from zoo.config import load_config

    base = load_config(options.base)
    from pipeline.training.own_config import write_config

    written = write_config(base, options.data, options.images, out, val=options.val)
    for note in written.notes:
        write_line(note)
    learned, judged = written.images
    write_line(
        f"config: {written.path} ({', '.join(written.classes)}), {learned} images to learn, {judged} to validate"
    )
    write_line(f"next: zooport train {written.path}")
    return {
        "config": str(written.path),
        "annotations": [str(file) for file in written.annotations],
        "classes": list(written.classes),
        "images": list(written.images),
        "notes": list(written.notes),
    }
