"""A config's graph in fp32, proved, and the tensors of calibration pictures: what trials of precisions begin with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
from mmengine.config import Config
from numpy.typing import NDArray

from pipeline.deploying import make_deployment
from pipeline.host_windows import in_windows
from pipeline.job import Job, plan_job
from pipeline.precision.calibration import feeds
from zoo.manifest import ONNX_FILE
from zoo.precision_options import PrecisionOptions


@dataclass(frozen=True)
class Fp32Graph:
    """`place`: its deployment, while the context lasts. `options`: the config's of the precision that is tried.

    `feeds`: the inputs of `model`, by name, of calibration pictures.
    """

    job: Job
    place: Path
    model: onnx.ModelProto
    feeds: Sequence[Mapping[str, NDArray[Any]]]
    options: PrecisionOptions


@contextmanager
def fp32_graph(
    config: Config,
    precision: str,
    *,
    images: Sequence[str | Path] = (),
    checkpoint: str | Path | None = None,
    calibration: Sequence[str | Path] = (),
    count: int | None = None,
    step: Callable[[str], None],
) -> Iterator[Fp32Graph]:
    """Deploy in fp32 into a folder that is gone afterwards. `count`: calibration pictures, None: the config's number.

    `calibration`: pictures, or folders of them, in place of the config's. Raises as a deploy does.
    """
    section = config.get("export", {}).get("precision", {}).get(precision, {})
    options = PrecisionOptions.from_dict(dict(section))
    with TemporaryDirectory(prefix="zooport-fp32-") as folder:
        job = plan_job(config, None, images, folder)
        given = feeds(job, count or options.calibration_images, pictures=calibration)
        step("deploy in fp32")
        deployed = make_deployment(config, job.target, images, checkpoint=checkpoint, work_dir=folder)
        deployed.deployment.close()
        cut = in_windows(given, deployed.deployment.manifest.windows)
        yield Fp32Graph(job, deployed.place, onnx.load(deployed.place / ONNX_FILE), cut, options)
