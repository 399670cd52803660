"""How much of a whole call is the network: a bare session against `model(image)`, and Ultralytics in the same run.

    python benchmarks/whole_call.py --page docs/measured/whole_call.md

The deployments are made first, below --work-dir. A bare session is the call's own `session.run` of ONNX Runtime on the
tensor that the call gives it; the figure is its time over that of the whole call, the median of the rounds'
ratios: 1 would be a call that costs nothing beside the network. With the library ultralytics (`pip install
"zooport[bench]"`) its own call runs in the same rounds, of the very network that zooport deployed for it, and of a
YOLOv8 for masks with random weights. It needs an idle machine. Exit code 3 where a target is missed.
"""

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import cv2
import numpy as np
from measured import deployed, interleaved, machine, ratio, write_page
from numpy.typing import NDArray

from backends import load
from zoo.preprocess import Preprocess

Image = NDArray[Any]  # uint8 BGR [h, w, 3]
THREADS = 2
ROUNDS = 41
MASKS = 50
VAL = ROOT / "zoo/data/digits/val/images"
PACKAGES = ("onnxruntime", "opencv-python", "numpy")
PLAIN_PREPROCESSING = 0.09  # of plain numpy


class Row(NamedTuple):
    """A figure, its target, and whether it holds; `most`: the figure must be at most its target, else at least."""

    what: str
    figure: float
    target: float | None = None
    most: bool = False

    @property
    def word(self) -> str:
        """For the table."""
        if self.target is None:
            return ""
        return "held" if (self.figure <= self.target if self.most else self.figure >= self.target) else "missed"


def main() -> int:
    """Print and write the table; 3 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work-dir", type=Path, default=ROOT / "work_dirs/whole_call")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    rows = [*_detection(args.work_dir, args.rounds), *_masks(args.work_dir, args.rounds), _preprocessing(args.rounds)]
    lines = ["| what | measured | target | |", "|---|---:|---:|---|"]
    lines += [
        f"| {row.what} | {row.figure:.3f} | {'' if row.target is None else format(row.target, '.2f')} | {row.word} |"
        for row in rows
    ]
    print("\n".join(lines))
    if args.page:
        packages = machine(*PACKAGES)
        with_it = find_spec("ultralytics") is not None
        packages += f", ultralytics {version('ultralytics')}" if with_it else "; without the library ultralytics"
        intro = (
            f"Batch 1, {THREADS} threads, the median of {args.rounds} rounds in turns. The first figure of each group "
            "is the part of a whole call (`model(image)`, from the image to the result) that a bare `session.run` on "
            "the same tensor takes in the same session; below are the times of the call and of its stages. "
            "Ultralytics runs the same network in a file of its own (`--layout ultralytics --output-level decoded`), "
            "except for masks, where it runs a YOLOv8n for masks with random weights.\n\n" + packages
        )
        write_page(args.page, "The whole call", intro, "benchmarks/whole_call.py", "\n".join(lines))
    return 0 if all(row.word != "missed" for row in rows) else 3


def _detection(work_dir: Path, rounds: int) -> list[Row]:
    """YOLOv5n at the size of its images, and at 640 x 640 pixels from a photograph of 1280 x 720."""
    small = _sample()
    large = cv2.resize(small, (1280, 720), interpolation=cv2.INTER_CUBIC)
    rows = []
    for name, image, flags, least in (
        ("YOLOv5n, 256x320", small, (), 0.95),
        ("YOLOv5n, 1280x720 to 640x640", large, ("--dynamic", "height=640:640:640", "width=640:640:640"), 0.98),
    ):
        folder = deployed(work_dir / name.replace(" ", "_"), "yolov5n_digits", *flags)
        runs = _runs(load(folder, threads=THREADS), image)
        if find_spec("ultralytics") is not None:
            ultralytics_flags = ("--layout", "ultralytics", "--output-level", "decoded", "--dynamic", "batch=1:1:1")
            theirs = deployed(work_dir / f"{name}_u".replace(" ", "_"), "yolov5n_digits", *ultralytics_flags, *flags)
            runs |= _ultralytics(theirs / "model.onnx", "detect", image)
        seconds = interleaved(runs, rounds)
        rows.append(Row(f"{name}: bare session of the whole call", ratio(seconds, "bare", "call"), least))
        rows += [_milliseconds(f"{name}: whole call", seconds["call"]), *_stages(name, folder, image, rounds)]
        if "ultralytics" in runs:
            part = ratio(seconds, "ultralytics, bare", "ultralytics")
            rows.append(Row(f"{name}: the same of Ultralytics' call", part))
            rows.append(
                Row(f"{name}: our call of Ultralytics' call", ratio(seconds, "call", "ultralytics"), 1.0, most=True)
            )
    return rows


def _masks(work_dir: Path, rounds: int) -> list[Row]:
    """Mask R-CNN, and 50 masks in pixels of an image of 640 x 512."""
    folder = deployed(work_dir / "masks", "mask-rcnn_r18-fpn_digits")
    image = cv2.resize(_sample(), (640, 512), interpolation=cv2.INTER_CUBIC)
    model = load(folder, threads=THREADS)
    found: Any = model(image)
    places = np.arange(MASKS) % len(found)

    def call() -> object:
        result: Any = model(image)
        return result[places].image_masks(*image.shape[:2])

    runs = {**_runs(model, image), "call": call}
    rows = []
    if find_spec("ultralytics") is not None:
        runs |= _ultralytics(_ultralytics_masks(work_dir), "segment", image, conf=0.0, max_det=MASKS)
    seconds = interleaved(runs, rounds)
    rows.append(
        Row(f"Mask R-CNN, {MASKS} pasted masks: bare session of the whole call", ratio(seconds, "bare", "call"), 0.90)
    )
    result = found[places]
    pasting = interleaved({"pasting": lambda: result.image_masks(*image.shape[:2])}, rounds)["pasting"]
    name = f"Mask R-CNN, {MASKS} pasted masks"
    rows += [_milliseconds(f"{name}: whole call", seconds["call"]), *_stages(name, folder, image, rounds)]
    rows.append(_milliseconds(f"{name}: pasting", pasting))
    if "ultralytics" in runs:
        part = ratio(seconds, "ultralytics, bare", "ultralytics")
        rows.append(Row(f"YOLOv8n for masks, {MASKS} masks: the same of Ultralytics' call", part))
    return rows


def _stages(name: str, folder: Path, image: Image, rounds: int) -> list[Row]:
    """The stages of a call, without the pasting of masks: the medians, in milliseconds."""
    with load(folder, threads=THREADS) as model:
        stages = [model.time_stages([image]) for _ in range(rounds)]
    return [
        _milliseconds(f"{name}: {stage}", [getattr(own, stage) for own in stages])
        for stage in ("preprocessing", "computing", "postprocessing")
    ]


def _milliseconds(what: str, seconds: Sequence[float]) -> Row:
    return Row(f"{what}, ms", 1000 * statistics.median(seconds))


def _preprocessing(rounds: int) -> Row:
    """1280 x 720 to 640 x 640, beside the same steps in plain numpy."""
    image = cv2.resize(_sample(), (1280, 720), interpolation=cv2.INTER_CUBIC)
    rule = Preprocess((640, 640), "letterbox", "bilinear", 114)
    tensor = np.empty((3, 640, 640), np.float32)
    seconds = interleaved({"ours": lambda: rule.run(image, tensor), "plain": lambda: plain_letterbox(image)}, rounds)
    assert np.abs(plain_letterbox(image) - tensor).max() <= 1.01 / 255  # the same steps
    figure = ratio(seconds, "ours", "plain")
    return Row("preprocessing, 1280x720 to 640x640: of plain numpy", figure, PLAIN_PREPROCESSING, most=True)


def plain_letterbox(image: Image, side: int = 640, pad: int = 114) -> NDArray[np.float32]:
    """Bilinear, as numpy alone would do it: float32 [3, side, side], RGB, 0..1."""
    height, width = image.shape[:2]
    scale = min(side / height, side / width)
    rows, columns = round(height * scale), round(width * scale)
    y = np.clip((np.arange(rows) + 0.5) * height / rows - 0.5, 0, height - 1)
    x = np.clip((np.arange(columns) + 0.5) * width / columns - 0.5, 0, width - 1)
    top, left = np.minimum(y.astype(int), height - 2), np.minimum(x.astype(int), width - 2)
    down, right = (y - top)[:, None, None].astype(np.float32), (x - left)[None, :, None].astype(np.float32)
    upper = image[top][:, left] * (1 - right) + image[top][:, left + 1] * right
    lower = image[top + 1][:, left] * (1 - right) + image[top + 1][:, left + 1] * right
    resized = np.rint(upper * (1 - down) + lower * down)
    canvas = np.full((side, side, 3), pad, np.float32)
    canvas[:rows, :columns] = resized
    return np.ascontiguousarray(canvas[..., ::-1].transpose(2, 0, 1)) / np.float32(255)


def _sample() -> Image:
    """A shipped image, 256 x 320 pixels."""
    image = cv2.imread(str(VAL / "000003.jpg"))
    assert image is not None
    return image


def _runs(model: Any, image: Image) -> dict[str, Callable[[], object]]:
    """A whole call, and its session alone on the tensor of this image: another one may be some percent off."""
    feed, _ = model.feeds(image)
    session = model.runner._session  # noqa: SLF001 - of ONNX Runtime's runner
    return {"call": lambda: model(image), "bare": lambda: session.run(None, feed)}


def _ultralytics(path: Path, task: str, image: Image, **options: Any) -> dict[str, Callable[[], object]]:
    """Ultralytics' call on a file, and the session that it opens alone, with the tensor that it gives it."""
    os.environ["YOLO_OFFLINE"] = "true"
    import torch

    torch.set_num_threads(THREADS)
    model = _yolo()(str(path), task=task)
    model.predict(image, device="cpu", verbose=False, **options)
    predictor: Any = model.predictor
    session = predictor.model.session
    shape = [side if isinstance(side, int) else 1 for side in session.get_inputs()[0].shape]
    feed = {session.get_inputs()[0].name: np.random.default_rng(0).random(shape, np.float32)}
    return {
        "ultralytics": lambda: model.predict(image, device="cpu", verbose=False, **options),
        "ultralytics, bare": lambda: session.run(None, feed),
    }


def _ultralytics_masks(work_dir: Path) -> Path:
    """A YOLOv8n for masks, with random weights: nothing is downloaded."""
    path = work_dir / "yolov8n-seg.onnx"
    if not path.is_file():
        exported = _yolo()("yolov8n-seg.yaml").export(format="onnx", imgsz=[512, 640], simplify=False, verbose=False)
        Path(exported).replace(path)
    return path


def _yolo() -> Any:
    """The library's class."""
    return import_module("ultralytics").YOLO


if __name__ == "__main__":
    sys.exit(main())
