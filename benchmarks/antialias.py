"""How long the antialiased resize of production takes, beside OpenCV's resizes and Pillow.

    OMP_NUM_THREADS=1 python benchmarks/antialias.py [--rounds N]

Noise of each size is resized by each of them, in turns. Writes docs/measured/antialias.md.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import cv2
import numpy as np
from measured import machine, ratio, write_page
from PIL import Image

from zoo.preprocess import resampled

SIZES = (((480, 640), (224, 224)), ((1080, 1920), (640, 640)), ((1411, 1411), (640, 640)), ((512, 512), (640, 640)))
NAMES = ("antialias", "antialias_bicubic", "area")
PILLOW = {"Pillow bilinear": Image.Resampling.BILINEAR, "Pillow bicubic": Image.Resampling.BICUBIC}
PAGE = ROOT / "docs" / "measured" / "antialias.md"
INTRO = """Images of noise, resized by each of the ways in turn, {rounds} rounds; CPU time of one thread. Ratio: the
median of the rounds' ratios to OpenCV's bilinear resize, which looks at four pixels and antialiases nothing. OpenCV's
"area" and Pillow average as well.

{machine}"""


def main() -> int:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    cv2.setNumThreads(1)
    names = [*NAMES, *PILLOW]
    rows = ["| from | to | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for image, size in SIZES:
        seconds = _in_turns(_runs(image, size), rounds)
        ratios = (f"{ratio(seconds, name, 'bilinear'):.1f}" for name in names)
        rows.append(f"| {image[0]}x{image[1]} | {size[0]}x{size[1]} | {' | '.join(ratios)} |")
    table = "\n".join(rows)
    print(table)
    intro = INTRO.format(rounds=rounds, machine=machine("numpy", "opencv-python", "pillow"))
    write_page(PAGE, "The antialiased resize", intro, "OMP_NUM_THREADS=1 python benchmarks/antialias.py", table)
    return 0


def _runs(image: tuple[int, int], size: tuple[int, int]) -> dict[str, Callable[[], Any]]:
    pixels = np.random.default_rng(0).integers(0, 256, (*image, 3)).astype(np.uint8)
    pillow = Image.fromarray(pixels)
    own = {name: partial(resampled, pixels, size, name) for name in ("bilinear", *NAMES)}
    return own | {name: partial(pillow.resize, size[::-1], method) for name, method in PILLOW.items()}


def _in_turns(runs: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of this thread, which other programs of the machine change little, after two that do not count."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(-2, rounds):
        for name, run in runs.items():
            begun = time.thread_time()
            run()
            if number >= 0:
                seconds[name].append(time.thread_time() - begun)
    return seconds


if __name__ == "__main__":
    raise SystemExit(main())
