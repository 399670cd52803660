"""Run a deployment on pictures: label maps as PNG files, detections as data, both drawn on request."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from command_line import Parser, run_tool
from numpy.typing import NDArray
from terminal import open_console, show_counts

from zoo.errors import InputError

if TYPE_CHECKING:
    from backends import Deployment
    from zoo.structures import DetectionResult, Result

EXAMPLES = """examples:
  python tools/predict.py work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32 --image *.jpg --out found
  python tools/predict.py work_dirs/semantic-segmentation/fcn_r18_digits/onnxruntime-fp32 --image a.jpg --out . --draw

--out gets NAME.png for a label map (a pixel is the model's own id), NAME.json for detections (boxes x1 y1 x2 y2 in
pixels of the picture), NAME.npz for their masks (masks bool [n, h, w]), and with --draw NAME_drawn.jpg"""


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="predict.py", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("deployment", metavar="DEPLOYMENT", help="a folder that tools/deploy.py wrote")
    flags.add_argument("--image", nargs="+", action="extend", required=True, metavar="F", help="pictures")
    flags.add_argument("--out", type=Path, required=True, metavar="D", help="folder for the results; may be new")
    flags.add_argument("--draw", action="store_true", help="also draw each result on its picture")
    flags.add_argument("--device", metavar="D", help="cpu or cuda:N; default: as deployed")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Predict, write, and give what was written."""
    console = open_console()
    names = _names(options.image)
    from backends import load
    from pipeline.images import read_image

    current, written = "", []
    model = load(options.deployment, provider=options.device, progress=lambda done, total: count(current, done, total))
    unit = "images" if model.manifest.windows is None else "windows"
    with model, show_counts(console, unit) as (_, count):
        options.out.mkdir(parents=True, exist_ok=True)
        for number, (name, path) in enumerate(names.items(), 1):
            current = path
            pixels = read_image(path).pixels
            written += _write(model, pixels, model(pixels), options.out / name, draw=options.draw)
            if unit == "images":
                count("predict", number, len(names))
    for file in written:
        console.print(file, soft_wrap=True, highlight=False)
    return {"deployment": str(options.deployment), "written": written}


def _names(paths: Sequence[str]) -> dict[str, str]:
    """The pictures by the names of their results. Raises InputError where two would have one."""
    names: dict[str, str] = {}
    for path in paths:
        name = Path(path).stem
        if name in names:
            raise InputError(f"--image {path}: its result would overwrite that of {names[name]}; rename one of them")
        names[name] = path
    return names


def _write(model: "Deployment", pixels: NDArray[np.uint8], result: "Result", place: Path, *, draw: bool) -> list[str]:
    """The files of one picture; `place`: their path without its ending."""
    from zoo.structures import InstanceSegmentationResult, SegmentationResult

    files: dict[str, bytes] = {}
    if isinstance(result, SegmentationResult):
        label_map = result.label_map
        files[".png"] = _encoded(".png", label_map if label_map.dtype == np.uint8 else label_map.astype(np.uint16))
    else:
        files[".json"] = json.dumps(_objects(model, result), indent=1).encode()
    if isinstance(result, InstanceSegmentationResult):
        packed = BytesIO()
        np.savez_compressed(packed, masks=result.image_masks(*pixels.shape[:2]))
        files[".npz"] = packed.getvalue()
    if draw:
        files["_drawn.jpg"] = _encoded(".jpg", model.task.draw(pixels, result))
    for ending, content in files.items():
        path = place.with_name(place.name + ending)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_bytes(content)
        beside.replace(path)
    return [str(place.with_name(place.name + ending)) for ending in files]


def _objects(model: "Deployment", result: "DetectionResult") -> list[dict[str, Any]]:
    """Each detection as data, best first."""
    columns = {field.name: getattr(result, field.name).tolist() for field in fields(result) if field.name != "masks"}
    names = [model.task.class_name(label) for label in columns["labels"]]
    return [
        {"class": name, **dict(zip(columns, row, strict=True))}
        for name, *row in zip(names, *columns.values(), strict=True)
    ]


def _encoded(ending: str, picture: NDArray[Any]) -> bytes:
    good, content = cv2.imencode(ending, picture)
    if not good:
        raise InputError(f"a picture of {picture.shape[1]}x{picture.shape[0]} pixels cannot be written as {ending[1:]}")
    return content.tobytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run_tool(parser(), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
