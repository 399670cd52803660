"""Run a deployment on images: label maps and larger images as PNG files, detections as data, drawn on request."""

import argparse
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from zoo.errors import InputError
from zoo.files.writing import write_whole
from zoo.tasks import known_tasks
from zoo.tasks.saving import png
from zooport.parser import Parser
from zooport.terminal import open_light_console, show_counts

EXAMPLES = """examples:
  zooport predict work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32 --image *.jpg --out found
  zooport predict work_dirs/semantic-segmentation/fcn_r18_digits/onnxruntime-fp32 --image a.jpg --out b --draw
  zooport predict work_dirs/super-resolution/srcnn_any-scale_photographs/onnxruntime-fp32 \\
    --image a.jpg --out b --input scale=4

--out gets NAME.png for a label map (a pixel is the model's own id) or a larger image, NAME.json for
detections (box x1 y1 x2 y2 in pixels of the image), NAME.npz for their masks (masks bool [n, h, w]), and with --draw
NAME_drawn.png"""
DRAWN = "_drawn.png"


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport predict", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("deployment", metavar="DEPLOYMENT", help="a folder that zooport deploy wrote")
    flags.add_argument("--image", nargs="+", action="extend", required=True, metavar="F", help="images")
    flags.add_argument("--out", type=Path, required=True, metavar="D", help="folder for the results; may be new")
    flags.add_argument("--draw", action="store_true", help="also draw each result on its image")
    flags.add_argument(
        "--input",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=NUMBER",
        help="of inputs with defaults: scale=2, score_threshold=0.5",
    )
    flags.add_argument("--device", metavar="D", help="cpu, cuda:N ...; default: as deployed")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Predict, write, and give what was written. An error names what was written before it."""
    console = open_light_console()
    names = _names(options.image, options.out)
    inputs = _inputs(options.input)
    _check_out(options.out)
    from backends import load

    current, written = "", []

    def count_windows(_what: str, done: int, total: int) -> None:
        count(current, done, total)

    model = load(options.deployment, provider=options.device, progress=count_windows)
    if model.level != "final":
        raise InputError(f'{options.deployment}: output level "{model.level}" has no results; deploy level final')
    unit = "images" if model.manifest.windows is None else "windows"
    try:
        with model, show_counts(console, unit) as (_, count):
            for number, (name, path) in enumerate(names.items(), 1):
                current = path
                pixels = model.task.kind.read(path)
                result = model(pixels, **inputs)
                files = list(model.task.files(pixels, result))
                if options.draw:
                    files.append((DRAWN, png(model.task.draw(pixels, result))))
                for ending, content in files:
                    written.append(_write(options.out / f"{name}{ending}", content))
                if unit == "images":
                    count("predict", number, len(names))
    except BaseException as error:
        error.data = {"written": written}  # type: ignore[attr-defined]  # run_tool writes it
        if written:
            error.add_note(f"files written: {len(written)}, the last {written[-1]}")
        raise
    for file in written:
        console.print(file, soft_wrap=True, highlight=False)
    return {"deployment": str(options.deployment), "written": written}


def _names(paths: Sequence[str], out: Path) -> dict[str, str]:
    """The images by the names of their results.

    Raises InputError where one is no file, or a result would overwrite another one or an image.
    """
    names: dict[str, str] = {}
    for path in paths:
        if not Path(path).is_file():
            raise InputError(f"--image {path}: no such file")
        name = Path(path).stem
        if name in names:
            raise InputError(f"--image {path}: its result would overwrite that of {names[name]}; rename one of them")
        names[name] = path
    endings = dict.fromkeys((*(ending for task in known_tasks().values() for ending in task.endings), DRAWN))
    images = {Path(path).resolve() for path in paths}
    for name, ending in itertools.product(names, endings):
        if (out / f"{name}{ending}").resolve() in images:
            raise InputError(f"--out {out}: {name}{ending} would overwrite an image; give another folder")
    return names


def _inputs(flags: Sequence[str]) -> dict[str, float]:
    """From NAME=NUMBER. Raises InputError; what the model knows, it says itself."""
    inputs: dict[str, float] = {}
    for flag in flags:
        name, _, text = flag.partition("=")
        if name in inputs:
            raise InputError(f"--input {flag}: {name} is given twice")
        try:
            inputs[name] = float(text)
        except ValueError as error:
            raise InputError(f"--input {flag}: expected NAME=NUMBER, for example scale=2") from error
    return inputs


def _check_out(out: Path) -> None:
    """Before the long work: can files be written there?"""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror}); give another folder") from error


def _write(path: Path, content: bytes) -> str:
    """Gives the path as text."""
    write_whole(path, content)
    return str(path)
