"""What one deploy is about, checked before the long work starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config
from torch import nn

from backends import available
from backends.tensorrt.build_check import check_buildable
from backends.tensorrt.cuda import device_number
from backends.tensorrt.gpu import gpu
from pipeline.deploy_target import deploy_target, target_preprocess
from pipeline.device import check_device, engine_device
from pipeline.image_sizes import check_image_sizes
from pipeline.images import NamedImage
from pipeline.own_size import check_own_size
from pipeline.parity.gates import merged_gates
from pipeline.pictures import pictures
from pipeline.place import deployment_place
from pipeline.plugin_level import check_plugin
from rewriters.graph_rewriters import check_steps
from zoo.config import config_target, load_config
from zoo.contract import Contract, contract_module
from zoo.errors import BackendUnavailableError, InputError
from zoo.preprocess import Preprocess
from zoo.target import ENGINE_BACKENDS, AxisRange, Target
from zoo.tasks import Task, build_task
from zoo.windows import WINDOW_BATCH


@dataclass(frozen=True)
class Job:
    """``preprocess``: the config's, for the sizes of the target. ``place``: where the deployment will lie.

    ``calibration``: pictures, or folders of them, in place of the config's own.
    """

    config: Config
    target: Target
    task: Task
    preprocess: dict[str, Any]
    images: list[NamedImage]
    gates: dict[str, dict[str, float]]
    place: Path
    calibration: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The config's file name without its ending."""
        return Path(self.config.filename).stem

    @property
    def forward(self) -> dict[str, Any]:
        """Keyword arguments of the model's forward."""
        return dict(self.config.get("export", {}).get("forward", {}))

    def contract(self, model: nn.Module) -> Contract:
        """The model with the outputs that the target asks for. Raises InputError, see contract_module."""
        target = self.target
        return contract_module(model, self.task, target.level, self.forward, target.layout)


def plan_job(
    config: str | Path | Config,
    target: Target | None,
    images: Sequence[str | Path],
    work_dir: str | Path,
    calibration: Sequence[str | Path] = (),
) -> Job:
    """Read and check everything but the weights. ``target`` None: the config's own.

    Raises InputError and BackendUnavailableError; writes nothing.
    """
    if not isinstance(config, Config):
        config = load_config(config)
    target = deploy_target(config) if target is None else target
    own = config_target(config, target.precision)
    _check_buildable(target, own)
    gates = merged_gates(config.get("gates"), target.precision)
    task = build_task(config.task)
    fields = target_preprocess(config, target)
    preprocess = Preprocess.from_dict(fields)
    check_own_size(task, preprocess)
    if target.image_sizes:
        check_image_sizes(task, preprocess)
    export = config.get("export", {})
    _check_steps(export)
    place = deployment_place(work_dir, task.name, Path(config.filename).stem, target, own)
    found = pictures(config, images, preprocess, target)
    return Job(config, target, task, fields, found, gates, place, tuple(map(Path, calibration)))


def _check_steps(export: Mapping[str, Any]) -> None:
    """Graph rewriters and plugins of the config, by their names and options."""
    steps = check_steps(export.get("graph_rewriters", ()))
    if any(rewriter.name == "cast_precision" for rewriter, _ in steps):
        raise InputError(
            "export.graph_rewriters: cast_precision changes the precision behind the target's back; leave it out, and "
            "give --precision fp16"
        )
    check_plugin(export.get("plugin"))


def _check_buildable(target: Target, own: Target) -> None:
    """``own``: the config's target. Its engine options are for backends with engines, and no fault elsewhere."""
    if target.backend == "pytorch":
        raise InputError(
            "backend pytorch is the reference itself, and there is nothing to build for it; give --backend onnxruntime"
        )
    reason = available()[target.backend]
    if reason is not None:
        raise BackendUnavailableError(f"backend {target.backend} is not available: {reason}")
    if target.precision != "fp32" and target.level == "plugin":
        raise InputError(
            f"precision {target.precision} at output level plugin: nothing here runs plugin nodes, so no range can be "
            "measured; give --output-level decoded or --precision fp32"
        )
    if target.backend in ENGINE_BACKENDS and target.thresholds:
        raise InputError(
            f"thresholds as inputs with backend {target.backend}: TensorRT takes inputs that may be left out for "
            "constants; leave export.inputs.thresholds out"
        )
    check_device(target.device)
    if target.backend in ENGINE_BACKENDS:
        check_buildable(target.backend, target.engine, engine_device(target), _batch_of_the_file(target))
        return
    if target.engine != own.engine:
        raise InputError(
            f"engine options with backend {target.backend}: it builds no engine; leave --engine out, or give --backend "
            "tensorrt or tensorrt-rtx"
        )
    _check_provider(target.device)


def _batch_of_the_file(target: Target) -> AxisRange:
    """The batches that an engine takes: of images, or of windows that the host cuts."""
    if target.slide != "host":
        return target.batch
    most = target.window_batch or WINDOW_BATCH
    return AxisRange(1, min(2, most), most)


def _check_provider(device: str) -> None:
    """Whether ONNX Runtime can run there; found out before the export, not after it."""
    from backends.onnxruntime.providers import provider_options

    provider_options(device)
    if device != "cpu" and gpu(device_number(device)) is None:
        raise BackendUnavailableError(f"device {device}: this machine has no such GPU; give --device cpu, or cuda:0")
