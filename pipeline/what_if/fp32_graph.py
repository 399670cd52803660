"""A config's graph in fp32, proved, and the tensors of calibration images: what trials of precisions begin with."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
from numpy.typing import NDArray
from torch import nn

from pipeline.base.steps import BeginStep
from pipeline.deploying import make_deployment
from pipeline.export.bound_job import bound_job
from pipeline.export.on_host import on_host
from pipeline.job.job import Job, plan_job
from pipeline.parity.errors import ParityMissedError
from pipeline.precision.calibration import check_calibration, feeds
from zoo.build import build_model
from zoo.config import ModelConfig
from zoo.errors import GateError
from zoo.manifest import ONNX_FILE
from zoo.precision_options import PrecisionOptions


@dataclass(frozen=True)
class Fp32Graph:
    """`model` is what the graph is of, `place` its deployment, while the context lasts.

    `feeds`: the inputs of `graph`, by name, of calibration images. `options`: the config's of the precision that is
    tried.
    """

    job: Job
    model: nn.Module
    place: Path
    graph: onnx.ModelProto
    feeds: Sequence[dict[str, NDArray[Any]]]
    options: PrecisionOptions


@contextmanager
def fp32_graph(
    config: ModelConfig,
    precision: str,
    *,
    images: Sequence[str | Path] = (),
    checkpoint: str | Path | None = None,
    calibration: Sequence[str | Path] = (),
    count: int | None = None,
    step: BeginStep,
) -> Iterator[Fp32Graph]:
    """Deploy in fp32 into a folder that is gone afterwards. `count`: calibration images, None: the config's number.

    `calibration`: images, or folders of them, in place of the config's. Raises as a deploy does.
    """
    options = config.export.precision.get(precision, PrecisionOptions())
    count = count or options.calibration_images
    with TemporaryDirectory(prefix="zooport-fp32-") as folder:
        job = plan_job(config, None, images, folder, calibration)
        check_calibration(job, count)
        step("build the PyTorch model")
        model = build_model(config, checkpoint)
        planned = job
        job, host = on_host(planned, model)
        job = bound_job(job, model)
        inputs = feeds(job, count, images=calibration, defaults=job.contract(model).defaults)
        step("deploy in fp32")
        try:
            deployed = make_deployment(replace(planned, calibration=()), checkpoint)  # fp32 has no ranges
        except ParityMissedError as error:
            raise GateError(
                f"in fp32 the graph is not the model: {error.record.failures[0]}; fix that first (zooport align)"
            ) from error
        deployed.deployment.close()
        of_file = inputs if host is None else [host.file_arrays(feed) for feed in inputs]
        yield Fp32Graph(job, model, deployed.place, onnx.load(deployed.place / ONNX_FILE), of_file, options)
