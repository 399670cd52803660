"""Models that one process calls in turns, and one model alone, with `load(folder, spin=False)` and without.

    python benchmarks/two_models.py --page docs/measured/two_models.md

The deployments are made first, below --work-dir. Both ways take turns in each round.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from measured import deployed, interleaved, machine, ratio, shipped_configs, write_page

from backends import Deployment, load

SPINS = {"spin=False": False, "default": True}
CASES = (
    (("yolov5n_digits", "fcn_r18_digits"), 0.0),
    (("faster-rcnn_r18-fpn_digits", "resnet18_digits"), 0.0),
    (("resnet18_digits",), 0.0),
    (("yolov5n_digits",), 0.0),
    (("yolov5n_digits",), 0.03),
    (("fcn_r18_digits",), 0.0),
    (("fcn_r18_digits",), 0.03),
)
"""Models, and seconds of sleep before each image."""
CALLS, ROUNDS = 24, 21
SHIPPED = ROOT / "zoo/data/digits/val/images"
HEAD = f"| models | before each image | {' | '.join(f'{name}, ms' for name in SPINS)} | ratio |\n|---|---|---|---|---|"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work-dir", type=Path, default=ROOT / "work_dirs/two_models")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    rows = [HEAD]
    print(HEAD)
    for names, rest in CASES:
        folders = [deployed(options.work_dir / name, shipped_configs([name])[0]) for name in names]
        rows.append(row(names, folders, rest, options.rounds))
        print(rows[-1], flush=True)
    if options.page is not None:
        intro = (
            f"`model(image)` of each model, one after another, milliseconds for one image: medians "
            f"of {options.rounds} rounds of {CALLS} images, in turns.\n\n"
            f"{machine('onnxruntime', 'numpy', 'opencv-python')}"
        )
        write_page(options.page, "Two models in one process", intro, "benchmarks/two_models.py", "\n".join(rows))
    return 0


def row(names: Sequence[str], folders: Sequence[Path], rest: float, rounds: int) -> str:
    """Of the table. The rest is no part of the time."""
    ways = {name: [load(folder, spin=spin) for folder in folders] for name, spin in SPINS.items()}
    totals = interleaved({name: images_through(models, rest) for name, models in ways.items()}, rounds, warm_up=1)
    for models in ways.values():
        for model in models:
            model.close()
    seconds = {name: [each / CALLS - rest for each in times] for name, times in totals.items()}
    times = " | ".join(f"{1000 * statistics.median(each):.2f}" for each in seconds.values())
    words = f"{1000 * rest:.0f} ms of sleep" if rest else "nothing"
    return f"| {', '.join(names)} | {words} | {times} | {ratio(seconds, *SPINS):.2f} |"


def images_through(models: Sequence[Deployment], rest: float) -> Callable[[], None]:
    """Each image through each model, after a rest."""
    paths = sorted(SHIPPED.iterdir())[:CALLS]
    images = [models[0].task.kind.read(str(path)) for path in paths]

    def run() -> None:
        for image in images:
            if rest:
                time.sleep(rest)
            for model in models:
                model(image)

    return run


if __name__ == "__main__":
    sys.exit(main())
