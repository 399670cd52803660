"""(h) Images per second from files to results: reading and preprocessing beside the device's work."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from measured import ROOT

from gpu.deployments import deploy
from gpu.lacks import no_provider
from gpu.stage import Cell, Findings, Place, Stage

IMAGES = ROOT / "zoo/data/digits/val/images"
WORDS = ("fcn_r18_digits", "faster-rcnn", "resnet18")
AHEAD = (1, 4, 16)
MOST, LEAST_SECONDS = 200, 4.0
LABEL = "stream"


def cells(place: Place) -> Iterator[Cell]:
    """One for each model."""
    for config in place.configs(*WORDS):
        yield Cell("throughput", Path(config).stem, partial(_throughput, config))


def _throughput(config: str, place: Place, findings: Findings) -> None:
    """model.stream, beside one image after another, and beside each part of the work by itself."""
    from backends import load

    folder = deploy(config, place, LABEL, findings)
    paths = [str(path) for path in sorted(IMAGES.glob("*.jpg"))[: place.some(MOST)]]
    with load(folder, provider=place.device) as model:
        read = model.task.kind.read
        images = [read(path) for path in paths]
        tensors = [model.preprocess([image])[0] for image in images]
        name = model.runner.inputs[0].name

        def runs() -> None:
            for tensor in tensors:
                model.runner.run({**model.runner.defaults, name: tensor})

        def one_after_another() -> None:
            for path in paths:
                model(read(path))

        def stream(ahead: int) -> None:
            for prediction in model.stream(paths, ahead=ahead):
                prediction.result  # noqa: B018 - raises where there is none

        parts: dict[str, Callable[[], object]] = {
            "reading": lambda: [read(path) for path in paths],
            "preprocessing": lambda: [model.preprocess([image]) for image in images],
            "running": runs,
            "one after another": one_after_another,
            **{f"stream, {ahead} ahead": partial(stream, ahead) for ahead in AHEAD},
            "in batches": lambda: model(images),
        }
        for part, work in parts.items():
            with findings.trying(part):
                findings.add({f"{part} /s": _per_second(work, len(paths), 0 if place.rehearsal else LEAST_SECONDS)})


def _per_second(work: Callable[[], object], images: int, seconds: float) -> float:
    """Images per second, of as many repetitions as fit the seconds, after one that is not timed."""
    work()
    begin, done = time.perf_counter(), 0
    while not done or time.perf_counter() - begin < seconds:
        work()
        done += images
    return done / (time.perf_counter() - begin)


STAGE = Stage(8, "streaming", "How many images per second does model.stream read, prepare and run?", cells, no_provider)
