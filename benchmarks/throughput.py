"""The workers of `load(folder, workers=N)`, N = CPUs, beside one caller on one thread: seconds for each image.

    python benchmarks/throughput.py --page docs/measured/throughput.md
    python benchmarks/throughput.py resnet18 fcn --rounds 5        the configs whose names have one of these words

The deployments are made first, below --work-dir. One caller reads, decodes and calls, image after image. The workers
do the same in three ways: `model.stream` reads in the workers, `submit` and `acall` are given images that their caller
has read. What the machine can give is measured as well: so many processes, each of which does as the one caller, with
its part of the files. All of them take turns in each round, over the same files. First the results of each way are
compared with those of the one caller, to the bit and in order. Models that take images are measured.

The gate: `stream` takes at most 1.03 of (the time of the one caller / CPUs), the median of the rounds' ratios. Exit
code 3 if a model misses it. Exit code 4 if other processes took more than a twentieth of the CPUs: then the figures
mean nothing, and no page is written.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from measured import Others, deployed, interleaved, machine, of_images, ratio, shipped_configs, write_page

from backends import Deployment, load
from backends.threads import default_threads
from zoo.sources import Item, Source
from zoo.tasks import Result

MOST = 1.03
ROUNDS = 11
SECONDS = 4.0
MOST_OTHERS = 0.05
ALONE = "one caller"
STREAM = "stream"
WAYS = (STREAM, "submit", "acall", "processes")
HEAD = (
    f"| model | images | {' | '.join(f'{way} ms' for way in (ALONE, *WAYS))} | {' | '.join(WAYS)} | target | |\n"
    + "|---" * (5 + 2 * len(WAYS))
    + "|"
)
Run = Callable[[], list[Result]]


class Measured(NamedTuple):
    """Of one model. `seconds`: for each image, by the way; `ratios`: of a way to the one caller's time / CPUs."""

    name: str
    images: int
    seconds: dict[str, float]
    ratios: dict[str, float]

    @property
    def held(self) -> bool:
        """Whether the gate is met."""
        return self.ratios[STREAM] <= MOST

    def row(self) -> str:
        """Of the table."""
        times = " | ".join(f"{1000 * seconds:.2f}" for seconds in self.seconds.values())
        ratios = " | ".join(f"{each:.3f}" for each in self.ratios.values())
        return (
            f"| {self.name} | {self.images} | {times} | {ratios} | {MOST:.2f} | {'held' if self.held else 'missed'} |"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 3 where the gate is missed, 4 on a busy machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="of configs; default: the shipped ones")
    parser.add_argument("--work-dir", type=Path, default=ROOT / "work_dirs/throughput")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of the one caller in a round (default: 4)")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    others, rows = Others(), []
    print(HEAD)
    for config in shipped_configs(options.words, of_images):
        folder = deployed(options.work_dir / Path(config).stem, config)
        rows.append(measured(folder, files(config), options.rounds, options.seconds, others))
        print(rows[-1].row(), flush=True)
    if not rows:
        parser.error(f"no shipped config has one of these words: {' '.join(options.words)}")
    if others.share > MOST_OTHERS:
        print(f"other processes took {others.share:.0%} of the CPUs: this machine is busy", file=sys.stderr)
        return 4
    if options.page is not None:
        intro = (
            f"`load(folder, workers={default_threads()})` beside one caller on one thread, reading and decoding "
            f"included, time for each image: medians of {options.rounds} rounds in turns. The ratios are to the time "
            f"of the one caller, divided by the {default_threads()} CPUs. `stream` has the target. `processes` is what "
            f"the machine can give: {default_threads()} processes with a model each. Other processes "
            f"took {others.share:.1%} of the CPUs meanwhile.\n\n{machine('onnxruntime', 'numpy', 'opencv-python')}"
        )
        table = "\n".join([HEAD, *(row.row() for row in rows)])
        write_page(
            options.page,
            "Throughput of the workers",
            intro,
            " ".join(["benchmarks/throughput.py", *options.words]),
            table,
        )
    return 0 if all(row.held for row in rows) else 3


def files(config: str) -> list[str]:
    """The shipped images of a config's data set."""
    folder = ROOT / "zoo/data" / config.removesuffix(".py").rpartition("_")[2] / "val"
    folder = folder / "images" if (folder / "images").is_dir() else folder
    return sorted(str(path) for path in folder.iterdir() if path.suffix in (".jpg", ".png"))


def measured(folder: Path, paths: Sequence[str], rounds: int, seconds: float, others: Others) -> Measured:
    """A deployment over these files, repeated until the one caller takes as long as `seconds`."""
    cpus = default_threads()
    with load(folder, threads=1) as one, load(folder, workers=cpus) as pool, processes(folder, cpus) as parts:
        count = cpus * max(2, round(seconds / seconds_of_one(one, paths, seconds) / cpus))  # the same for each worker
        chosen = list(islice(cycle(paths), count))
        runs: dict[str, Run] = {
            ALONE: lambda: called(one, chosen),
            STREAM: lambda: streamed(pool, chosen),
            "submit": lambda: submitted(pool, chosen),
            "acall": lambda: asyncio.run(awaited(pool, chosen, 2 * cpus)),
            "processes": lambda: divided(parts, chosen),
        }
        expected = runs[ALONE]()
        for name, run in runs.items():
            if run() != expected:
                raise AssertionError(f"{folder}: {name} gives other results, or in another order")
        with others:
            taken = interleaved(runs, rounds, warm_up=1)
    return Measured(
        one.name,
        count,
        {name: statistics.median(taken[name]) / count for name in runs},
        {name: cpus * ratio(taken, name, ALONE) for name in runs if name != ALONE},
    )


def seconds_of_one(model: Deployment, paths: Sequence[str], seconds: float) -> float:
    """What one image takes: of twice as many each time, because the first calls and the first reading take longer."""
    count = 1
    while True:
        begin = perf_counter()
        called(model, list(islice(cycle(paths), count)))
        taken = perf_counter() - begin
        if taken >= seconds / 4:
            return taken / count
        count *= 2


def called(model: Deployment, paths: Sequence[str]) -> list[Result]:
    """One caller."""
    return [model(model.task.kind.read(path)) for path in paths]


def streamed(model: Deployment, paths: Sequence[str]) -> list[Result]:
    """The workers read. As `model.stream`, which takes each file once, does with the items of its source."""
    items = (Item(Source(path, path)) for path in paths)
    return [prediction.result for prediction in model.predictions(items, {})]


def submitted(model: Deployment, paths: Sequence[str]) -> list[Result]:
    """The caller reads, and submits."""
    return [future.result() for future in [model.submit(model.task.kind.read(path)) for path in paths]]


@contextmanager
def processes(folder: Path, count: int) -> Iterator[list[Connection]]:
    """Connections to processes, each with a model of its own on one thread: a list of paths -> their results."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(count)]
    children = [context.Process(target=serve, args=(folder, pipe[1]), daemon=True) for pipe in pipes]
    for child in children:
        child.start()
    try:
        yield [pipe[0] for pipe in pipes]
    finally:
        for child in children:
            child.terminate()
            child.join()


def serve(folder: Path, connection: Connection) -> None:
    """What such a process does until it is ended."""
    with load(folder, threads=1) as model:
        while True:
            connection.send(called(model, connection.recv()))


def divided(connections: Sequence[Connection], paths: Sequence[str]) -> list[Result]:
    """Each process has its part."""
    size = len(paths) // len(connections)
    for number, connection in enumerate(connections):
        connection.send(paths[number * size : (number + 1) * size])
    return [result for connection in connections for result in connection.recv()]


async def awaited(model: Deployment, paths: Sequence[str], callers: int) -> list[Result]:
    """Coroutines that read, as many as there is room for."""
    left = iter(enumerate(paths))
    results: dict[int, Result] = {}

    async def caller() -> None:
        for number, path in left:
            results[number] = await model.acall(model.task.kind.read(path))

    await asyncio.gather(*(caller() for _ in range(callers)))
    return [results[number] for number in range(len(paths))]


if __name__ == "__main__":
    sys.exit(main())
