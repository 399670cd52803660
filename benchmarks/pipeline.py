"""What zooport adds to a hand-written ONNX Runtime pipeline, per deployment: a whole call, and the cold start.

    python benchmarks/pipeline.py work_dirs/*/*/onnxruntime-fp32 [--json FILE]

Both sides do the same steps on the same 1280x720 photograph and must give equal results (asserted). Each round runs
both, in turn first and second; figures are medians, ratios the median of the rounds' ratios. The cold start is a fresh
process until its first result: time as the parent sees it, and peak memory (VmHWM).
Targets: whole call <= 1.03, cold start <= 1.15 in time and in memory. Exit code 3 where one is missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from handwritten.onnxruntime_pipeline import Pipeline
from measured import machine, write_page

from backends import Deployment, load
from backends.benchmark.bursts import PAUSE
from zoo.errors import GateError, InputError, ZooportError
from zoo.tasks import Result
from zoo.tasks.detection import DetectionResult

PHOTOGRAPH = ROOT / "zoo/data/digits/val/images/000000.jpg"
PHOTOGRAPH_SIZE = (1280, 720)
TARGETS = {"call": 1.03, "cold_time": 1.15, "cold_memory": 1.15}
UNITS = {"call": "ms", "cold_time": "ms", "cold_memory": "MiB"}
WARM_UP = 5


@dataclass(frozen=True)
class Comparison:
    """One figure of one deployment, beside the hand-written pipeline's."""

    deployment: str
    figure: str
    zooport: float
    handwritten: float
    ratio: float
    target: float
    rounds: int

    @property
    def held(self) -> bool:
        """Whether the ratio is within its target."""
        return self.ratio <= self.target


def photograph(path: Path) -> NDArray[np.uint8]:
    """The file's image, its middle at 16:9, as 1280x720 BGR."""
    image = cv2.imread(str(path))
    if image is None:
        raise InputError(f"--image {path}: cannot be read as an image")
    height, width = image.shape[:2]
    crop_height, crop_width = min(height, width * 9 // 16), min(width, height * 16 // 9)
    top, left = (height - crop_height) // 2, (width - crop_width) // 2
    crop = image[top : top + crop_height, left : left + crop_width]
    return cv2.resize(crop, PHOTOGRAPH_SIZE, interpolation=cv2.INTER_CUBIC).astype(np.uint8)


def handwritten_arguments(model: Deployment) -> tuple[str, int, int, int]:
    """The constants that somebody who wrote the pipeline by hand would have typed."""
    steps = model.manifest.preprocess
    if steps.size is None or steps.resize != "letterbox" or steps.interpolation != "bilinear":
        raise InputError(f"{model.manifest.name}: the hand-written pipeline has a bilinear letterbox only, not {steps}")
    return model.task.name, *steps.size, steps.pad_value


def paired(ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> tuple[float, float, float]:
    """Medians of both and of the rounds' ratios; who is first changes from round to round."""
    pairs = []
    for index in range(rounds):
        if index % 2:
            theirs_value, ours_value = theirs(), ours()
        else:
            ours_value, theirs_value = ours(), theirs()
        pairs.append((ours_value, theirs_value, ours_value / theirs_value))
    ours_median, theirs_median, ratio = (statistics.median(column) for column in zip(*pairs, strict=True))
    return ours_median, theirs_median, ratio


def compare_calls(folder: Path, image: NDArray[np.uint8], rounds: int) -> Comparison:
    """The whole call, warm, in this process."""
    model = load(folder)
    theirs = Pipeline(str(folder / "model.onnx"), *handwritten_arguments(model))
    for _ in range(WARM_UP):
        require_equal(folder, model(image), theirs(image))
    ours_time, theirs_time, ratio = paired(
        lambda: timed(lambda: model(image)), lambda: timed(lambda: theirs(image)), rounds
    )
    return Comparison(str(folder), "call", ours_time * 1e3, theirs_time * 1e3, ratio, TARGETS["call"], rounds)


def require_equal(folder: Path, ours: Result, theirs: tuple[NDArray[Any], ...]) -> None:
    """Both pipelines must do the same work, or the comparison means nothing."""
    names = ("boxes", "scores", "labels") if isinstance(ours, DetectionResult) else ("label_map",)
    arrays = [np.asarray(getattr(ours, name)) for name in names]
    if not all(np.array_equal(one, other) for one, other in zip(arrays, theirs, strict=True)):
        raise GateError(f"{folder}: the hand-written pipeline gives another result; the two do not do the same steps")


def compare_cold_starts(folder: Path, image: NDArray[np.uint8], rounds: int) -> list[Comparison]:
    """Time and peak memory of a fresh process until its first result."""
    scripts = Path(__file__).parent / "handwritten"
    arguments = handwritten_arguments(load(folder))
    with tempfile.TemporaryDirectory() as scratch:
        photograph = str(Path(scratch) / "photograph.png")
        cv2.imwrite(photograph, image)
        ours = [str(scripts / "zooport_pipeline.py"), str(folder), photograph]
        theirs = [
            str(scripts / "onnxruntime_pipeline.py"),
            str(folder / "model.onnx"),
            photograph,
            *map(str, arguments),
        ]
        for command in (ours, theirs):
            fresh(command)
        memory: dict[str, list[float]] = {"ours": [], "theirs": []}

        def start(side: str, command: list[str]) -> float:
            seconds, peak = fresh(command)
            memory[side].append(peak)
            return seconds

        times = paired(lambda: start("ours", ours), lambda: start("theirs", theirs), rounds)
    peak, their_peak = statistics.median(memory["ours"]), statistics.median(memory["theirs"])
    return [
        Comparison(str(folder), "cold_time", times[0] * 1e3, times[1] * 1e3, times[2], TARGETS["cold_time"], rounds),
        Comparison(str(folder), "cold_memory", peak, their_peak, peak / their_peak, TARGETS["cold_memory"], rounds),
    ]


def fresh(command: list[str]) -> tuple[float, float]:
    """Seconds from the start of a fresh Python to its line, and the peak memory in MiB that the line tells."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    begin = time.perf_counter()
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=environment) as process:
        line = process.stdout.readline() if process.stdout else ""
        seconds = time.perf_counter() - begin
    if not line:
        raise ZooportError(f"{' '.join(command)} gave no figure")
    return seconds, int(line) / 1024


def timed(call: Callable[[], object]) -> float:
    """Seconds of one warm call, alone: the other side's threads sleep by then, and this side's have been woken."""
    time.sleep(PAUSE)
    call()
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main() -> int:
    """Compare, print the table; 3 where a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("deployments", nargs="+", type=Path, metavar="DEPLOYMENT")
    parser.add_argument("--image", type=Path, default=PHOTOGRAPH, help="cropped to 16:9 and resized to 1280x720")
    parser.add_argument("--rounds", type=int, default=61, help="of the whole call (default 61)")
    parser.add_argument("--cold-rounds", type=int, default=61, help="of the cold start (default 61)")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--page", type=Path, help="write the table into this Markdown page")
    options = parser.parse_args()
    try:
        image = photograph(options.image)
        comparisons: list[Comparison] = []
        print(f"{'deployment':<72} {'figure':<12} {'zooport':>10} {'by hand':>10} {'ratio':>7} {'target':>7}")
        for folder in options.deployments:
            for row in (
                compare_calls(folder, image, options.rounds),
                *compare_cold_starts(folder, image, options.cold_rounds),
            ):
                unit = UNITS[row.figure]
                print(
                    f"{row.deployment:<72} {row.figure:<12} {row.zooport:>6.1f} {unit:<3} {row.handwritten:>6.1f} "
                    f"{unit:<3} {row.ratio:>7.3f} {row.target:>7.2f}{'' if row.held else '  MISSED'}"
                )
                comparisons.append(row)
    except ZooportError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in comparisons], indent=2) + "\n")
    if options.page:
        _write_page(options.page, comparisons)
    return 0 if all(row.held for row in comparisons) else GateError.exit_code


def _write_page(page: Path, comparisons: list[Comparison]) -> None:
    lines = [
        f"| {Path(row.deployment).parent.name} | {row.figure} | {row.zooport:.1f} {UNITS[row.figure]} "
        f"| {row.handwritten:.1f} {UNITS[row.figure]} | {row.ratio:.3f} | {row.target} "
        f"| {'yes' if row.held else 'NO'} |"
        for row in comparisons
    ]
    head = ["| model | figure | zooport | by hand | ratio | target | held |", "|---|---|---|---|---|---|---|"]
    intro = (
        "A deployment against a pipeline of the same steps written by hand with ONNX Runtime, cv2 and numpy, on a "
        "1280x720 image: the whole warm call, and a fresh process until its first result. Ratios are medians of the "
        "rounds' ratios.\n\n" + machine("onnxruntime", "opencv-python", "numpy")
    )
    command = "benchmarks/pipeline.py work_dirs/*/*/onnxruntime-fp32"
    write_page(page, "What zooport adds to a hand-written pipeline", intro, command, "\n".join([*head, *lines]))


if __name__ == "__main__":
    sys.exit(main())
