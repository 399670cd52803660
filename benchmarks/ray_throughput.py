"""`zooport predict --engine ray` with two actors beside the plain loop of one thread, over the same images.

    python benchmarks/ray_throughput.py DEPLOYMENT DEPLOYMENT --page docs/measured/ray_throughput.md
    python benchmarks/ray_throughput.py DEPLOYMENT --images 200 --image street.jpg

The images are copies of shipped ones, or of --image. The plain loop reads, decodes and calls, image after image, in
this process, with a deployment that is loaded already. The time of Ray is that of the whole command: the start of
Python and of the cluster, reading, computing, writing and the end. Each row is compared with the plain loop's, to the
bit. The two take turns, --rounds times.

The gate: Ray takes at most 0.75 of the plain loop's time, the median of the rounds' ratios. Exit code 3 if one
misses it. Exit code 4 if other processes took more than a twentieth of the CPUs beside the plain loop: then the figures
mean nothing, and no page is written.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import pyarrow.dataset
from measured import Others, machine, ratio, write_page

from backends import Deployment, load
from backends.scale.part import Part
from backends.streaming import Prediction
from zoo.sources import Item, Source
from zoo.tasks import Result

ACTORS = 2
IMAGES = 5000
MOST = 0.75
ROUNDS = 3
SHIPPED = ROOT / "zoo/data/digits/val/images"
LOOP, RAY = "plain loop", "Ray"
MOST_OTHERS = 0.05
HEAD = f"| model | {LOOP} s | {RAY}, {ACTORS} actors s | ratio | target | |\n|---|---|---|---|---|---|"


class Measured(NamedTuple):
    """Of one model: seconds of the loop and of Ray, and the median of the rounds' ratios."""

    name: str
    loop: float
    ray: float
    ratio: float

    @property
    def held(self) -> bool:
        """Whether the gate is met."""
        return self.ratio <= MOST

    def row(self) -> str:
        """Of the table."""
        word = "held" if self.held else "missed"
        return f"| {self.name} | {self.loop:.1f} | {self.ray:.1f} | {self.ratio:.3f} | {MOST:.2f} | {word} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 3 where the gate is missed, 4 on a busy machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("deployments", type=Path, nargs="+", metavar="DEPLOYMENT")
    parser.add_argument("--images", type=int, default=IMAGES, help="how many (default: 5000)")
    parser.add_argument("--image", type=Path, nargs="+", metavar="F", help="what is copied; default: shipped digits")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    originals = options.image or sorted(SHIPPED.iterdir())
    figures, others = [], Others()
    print(HEAD)
    with TemporaryDirectory(prefix="zooport-ray-throughput-") as place:
        paths = copies(originals, options.images, Path(place, "images"))
        for deployment in options.deployments:
            with load(deployment, threads=1) as model:
                figures.append(measured(model, deployment, paths, options.rounds, others))
            print(figures[-1].row(), flush=True)
    if others.share > MOST_OTHERS:
        print(f"other processes took {others.share:.0%} of the CPUs: this machine is busy", file=sys.stderr)
        return 4
    if options.page is not None:
        intro = (
            f"`zooport predict --engine ray --workers {ACTORS}`, its start included, beside a loop of one thread, over "
            f"{options.images} images. {basis(options.rounds)} All rows are equal to the bit. "
            f"Other processes took {others.share:.1%} of the CPUs beside it.\n\n"
            f"{machine('onnxruntime', 'ray', 'pyarrow')}"
        )
        text = "\n".join([HEAD, *(figure.row() for figure in figures)])
        write_page(options.page, "Throughput of Ray", intro, "benchmarks/ray_throughput.py", text)
    return 0 if all(figure.held for figure in figures) else 3


def copies(originals: Sequence[Path], count: int, folder: Path) -> list[Path]:
    """So many files, in turns of these, by their names in order."""
    folder.mkdir()
    width = len(str(count))
    paths = []
    for number in range(count):
        original = originals[number % len(originals)]
        paths.append(folder / f"{number:0{width}}{original.suffix}")
        shutil.copyfile(original, paths[-1])
    return paths


def measured(model: Deployment, deployment: Path, paths: Sequence[Path], rounds: int, others: Others) -> Measured:
    """Of one deployment; `others` sees what other processes take. Raises AssertionError where rows differ."""
    seconds: dict[str, list[float]] = {LOOP: [], RAY: []}
    for number in range(rounds):
        out = paths[0].parents[1] / f"{model.name}-{number}"
        for way in (LOOP, RAY) if number % 2 == 0 else (RAY, LOOP):
            begin = time.perf_counter()
            if way == RAY:
                with_ray(deployment, paths[0].parent, out)
            else:
                with others:
                    results = [model(model.task.kind.read(path)) for path in paths]
            seconds[way].append(time.perf_counter() - begin)
        check_rows(model, paths, results, out)
    loop, ray = (statistics.median(seconds[way]) for way in (LOOP, RAY))
    return Measured(model.name, loop, ray, ratio(seconds, RAY, LOOP))


def with_ray(deployment: Path, folder: Path, out: Path) -> None:
    """The whole command."""
    flags = ["--engine", "ray", "--workers", str(ACTORS), "--out", str(out), "-q"]
    command = [sys.executable, "-m", "zooport", "predict", str(deployment.absolute()), str(folder), *flags]
    subprocess.run(command, check=True, cwd=ROOT)


def check_rows(model: Deployment, paths: Sequence[Path], results: Sequence[Result], out: Path) -> None:
    """Raises AssertionError unless the rows are those of the results, in order."""
    part = Part(model.task)
    expected = (
        part.row(Prediction(Item(Source(str(path), str(path)), value=model.task.kind.read(path))), result)
        for path, result in zip(paths, results, strict=True)
    )
    places = sorted(out.glob("part-*.parquet"))
    rows = (row for place in places for row in pyarrow.dataset.dataset(place).to_table().to_pylist())
    for path, row, same in zip_longest(paths, rows, expected):
        if row != pyarrow.Table.from_pylist([same or {}], part.schema).to_pylist()[0]:
            raise AssertionError(f"{path}: Ray gives another row than the loop")


def basis(rounds: int) -> str:
    """What the figures rest on, in one sentence."""
    if rounds == 1:
        return f"The figures are of one round (the script's default is {ROUNDS}), which does not show their spread."
    return f"The figures are medians of {rounds} rounds, in which the two took turns."


if __name__ == "__main__":
    sys.exit(main())
