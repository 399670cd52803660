"""The tensors that ranges and overflows are measured on: images of the training split, never of val or gate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.inputs.named_input import NamedInput, input_of, read_input
from pipeline.inputs.parity_inputs import misfit
from pipeline.job.job import Job
from pipeline.job.paths_check import check_present
from pipeline.parity.graph_inputs import stacked
from pipeline.precision.separation import SECTION, check_files, check_sections
from zoo.datasets import config_dataset
from zoo.datasets.evaluation_dataset import INPUTS, EvaluationDataset
from zoo.errors import InputError
from zoo.input_kinds import InputKind

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Calibration:
    """The graph's inputs by name, batch by batch, and of how many images they are."""

    feeds: Sequence[Arrays] = ()
    images: int = 0


def feeds(
    job: Job,
    count: int,
    *,
    images: Sequence[str | Path] = (),
    defaults: Mapping[str, int] | None = None,
) -> list[Arrays]:
    """The tensors of `calibration`."""
    return list(calibration(job, count, images=images, defaults=defaults).feeds)


def calibration(
    job: Job,
    count: int,
    *,
    images: Sequence[str | Path] = (),
    defaults: Mapping[str, int] | None = None,
) -> Calibration:
    """The graph's inputs of `count` calibration images, or of as many as there are.

    `images`: files, and folders of them, in the place of the config's `calibration_dataset`. `defaults`: whole
    numbers for inputs that an image does not have, such as the scale. Each feed is a batch of the smallest size that
    the target takes, at its preferred height and width. Raises InputError where the config names no images and none
    are given, and for one that cannot be read or does not fit.
    """
    target = job.target
    entries = _given(job, images, count) if images else _of_config(job, count)
    batch = target.batch.min
    batches: list[Arrays] = []
    for start in range(0, len(entries), batch):
        chosen = [entries[(start + offset) % len(entries)] for offset in range(batch)]  # the last batch is filled up
        values = [image for image, _ in chosen]
        stack = stacked(job.task.kind, values, target.preferred, job.preprocess, image_sizes=target.image_sizes)
        numbers = {**(defaults or {}), **chosen[0][1]}
        batches.append({**stack.arrays, **{name: np.array([value], np.int64) for name, value in numbers.items()}})
    return Calibration(batches, len(entries))


def check_calibration(job: Job, count: int) -> None:
    """Raises InputError where there are no images to calibrate on, or they judge, too; known before the long work.

    `count`: how many are wanted.
    """
    if job.calibration:
        check_present("calibration image", job.calibration)
        check_files(job, islice(_files(job.task.kind, job.calibration), count))
        return
    dataset = _dataset(job)
    check_files(job, (entry.path for entry in dataset.entries[:count]))


def _dataset(job: Job) -> EvaluationDataset:
    if job.config.calibration_dataset is None:
        inputs = job.task.kind.plural
        raise InputError(
            f"config {job.config.path}: ranges of int8 and fp16 need {inputs} to calibrate on, and there is "
            f'no "{SECTION}"; add {SECTION}=dict(type=...) with {inputs} of the training set, or '
            "give --calibration-image"
        )
    check_sections(job)
    return config_dataset(job.config, SECTION)


Found = list[tuple[NamedInput, Mapping[str, int]]]


def _of_config(job: Job, count: int) -> Found:
    dataset = _dataset(job)
    items = (dataset.image_item(index) for index in range(min(count, len(dataset))))
    return [(input_of(job.task.kind, item), item.get(INPUTS, {})) for item in items]


def _given(job: Job, places: Sequence[str | Path], count: int) -> Found:
    kind = job.task.kind
    rule = job.preprocess
    entries: Found = []
    for path in _files(kind, places):
        if len(entries) == count:
            break
        image = read_input(kind, path)
        if fault := misfit(kind, image, rule, job.target):
            raise InputError(f"calibration {kind.noun} {path}: {fault}; leave it out, or give wider --dynamic bounds")
        entries.append((image, {}))
    return entries


def _files(kind: InputKind, places: Sequence[str | Path]) -> Iterator[Path]:
    for place in map(Path, places):
        if not place.is_dir():
            yield place
            continue
        inside = sorted(path for path in place.iterdir() if path.suffix.lower() in kind.suffixes)
        if not inside:
            endings = ", ".join(kind.suffixes)
            raise InputError(f"calibration folder {place}: no {kind.noun}s, expected one or more of {endings}")
        yield from inside
