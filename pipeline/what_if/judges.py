"""Who says what a model with other precisions still is worth: the metric on labelled images, or matched results."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mmengine.config import Config
from torch import nn

from backends.image_model import ImageModel
from pipeline.evaluation.feeding import Feeding
from pipeline.evaluation.reference import reference_model
from pipeline.job import Job
from pipeline.metric_gate import metric_judge
from pipeline.parity.gates import GATE_OF_UNIT, merged_gates
from pipeline.pictures import pictures
from pipeline.what_if.agreement import POINTS, agreement
from zoo.errors import InputError
from zoo.preprocess import Preprocess

Progress = Callable[[str, int, int], None]
KINDS = ("metric", "matched")


@dataclass(frozen=True)
class Judge:
    """`reference`: what PyTorch has, in `unit`; `value(candidate)`: what a candidate has. `name`: of the figure.

    `tolerance`: how far the two may be apart.
    """

    name: str
    unit: str
    images: int
    reference: float
    tolerance: float
    value: Callable[[ImageModel], float]


@contextmanager
def open_judge(
    kind: str,
    job: Job,
    model: nn.Module,
    precision: str,
    *,
    limit: int,
    given: Sequence[str | Path] = (),
    tolerance: float | None = None,
    progress: Progress,
) -> Iterator[Judge]:
    """A judge of a kind, which has run PyTorch's `model`.

    "metric": the config's, on the first `limit` images of its gate split, or of its data set; the tolerance is then the
    precision's gate where none is given. "matched": PyTorch's results, on the images of `given`, else on `limit` of the
    data set; there is no gate for that. Raises InputError as check_judge does.
    """
    check_judge(kind, job.config, given, tolerance)
    if kind == "metric":
        with metric_judge(job, model, progress, limit=limit) as (metric, reference, value):
            gate = merged_gates(job.config.get("gates"), precision)["metric"][GATE_OF_UNIT[metric.unit]]
            yield Judge(metric.main_key, metric.unit, metric.images, reference, tolerance or gate, value)
        return
    assert tolerance is not None  # check_judge
    images = job.images if given else pictures(job.config, (), Preprocess.from_dict(job.preprocess), job.target, limit)
    feeding = Feeding(Preprocess.from_dict(job.preprocess), image_sizes=job.target.image_sizes)
    pixels = [image.pixels for image in images]
    with reference_model(job.config, job.task, model, feeding, batch_size=1, device="cpu") as reference:
        expected = reference(pixels)
    yield Judge(
        "agreement with PyTorch",
        "points",
        len(images),
        POINTS,
        tolerance,
        lambda candidate: agreement(expected, candidate(pixels)),
    )


def check_judge(kind: str, config: Config, given: Sequence[str | Path], tolerance: float | None) -> None:
    """Raises InputError where there is nothing to judge by; known before the long work."""
    if kind == "matched" and tolerance is None:
        raise InputError("matched results have no gate; give --tolerance, how many points of 100 may be lost")
    if kind == "metric" and given:
        raise InputError("images of one's own have no truth for a metric; leave them out, or give --judge matched")
    if kind == "metric" and not ("evaluator" in config and ("dataset" in config or "gate_dataset" in config)):
        raise InputError(
            f"config {config.filename}: no dataset and evaluator to judge by; add them, or give --judge matched"
        )
