"""What one deploy is about, checked before the long work starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from pipeline.inputs.named_input import NamedInput
from pipeline.inputs.parity_inputs import parity_inputs
from pipeline.job.deploy_target import default_target, deploy_target, target_preprocess
from pipeline.job.deployment_path import deployment_place
from pipeline.job.image_sizes import check_image_sizes
from pipeline.job.plugin_level import check_plugin
from pipeline.job.target_check import check_target
from pipeline.parity.gates import merged_gates
from rewriters.graph_rewriters import check_steps
from zoo.cards import config_sha256
from zoo.config import ConfigSource, ExportSection, ModelConfig, load_config
from zoo.errors import InputError
from zoo.families import check_layout, contract_module
from zoo.printable import printable
from zoo.target import Target
from zoo.tasks import Task
from zoo.tasks.contract import Contract


@dataclass(frozen=True)
class Job:
    """``preprocess``: the config's rule, for the sizes of the target. ``place``: where the deployment will lie.

    ``calibration``: images, or folders of them, in place of the config's own. ``reference_results``: the folder where
    the unpatched model's results on the data set are found and kept, None to compute them for this job alone.
    """

    config: ModelConfig
    target: Target
    task: Task
    preprocess: Any
    images: list[NamedInput]
    gates: dict[str, dict[str, float]]
    place: Path
    calibration: tuple[Path, ...] = ()
    reference_results: Path | None = None

    @property
    def name(self) -> str:
        """The config's file name without its ending."""
        return printable(self.config.name)

    @property
    def forward(self) -> dict[str, Any]:
        """Keyword arguments of the model's forward."""
        return dict(self.config.export.forward)

    def contract(self, model: nn.Module) -> Contract:
        """The model with the outputs that the target asks for. Raises InputError, see contract_module."""
        target = self.target
        return contract_module(model, self.task, target.level, self.forward, target.layout, self.preprocess)


def plan_job(
    config: ConfigSource,
    target: Target | None,
    images: Sequence[str | Path],
    work_dir: str | Path,
    calibration: Sequence[str | Path] = (),
    reference_results: str | Path | None = None,
) -> Job:
    """Read and check everything but the weights. ``target`` None: the config's own. The rest as ``Job`` has it.

    Raises InputError and BackendUnavailableError; writes nothing.
    """
    config = load_config(config)
    target = deploy_target(config) if target is None else target
    default = default_target(config, target.backend, target.precision)
    if target.engine is None:
        target = target.with_(engine=default.engine)
    check_target(target)
    check_layout(target)
    task = config.task
    gates = merged_gates(config.gates, target.precision, own=task.own_gates)
    preprocess = target_preprocess(config, target)
    task.check_preprocess(preprocess)
    if target.image_sizes:
        check_image_sizes(task, preprocess)
    config_sha256(config)  # raises where the manifest could not have it
    _check_steps(config.export)
    place = deployment_place(work_dir, task.name, config.name, target, default)
    chosen_images = parity_inputs(config, images, preprocess, target)
    kept = None if reference_results is None else Path(reference_results)
    return Job(config, target, task, preprocess, chosen_images, gates, place, tuple(map(Path, calibration)), kept)


def _check_steps(export: ExportSection) -> None:
    """Graph rewriters and plugins of the config, by their names and options."""
    steps = check_steps(export.graph_rewriters)
    if any(rewriter.name == "cast_precision" for rewriter, _ in steps):
        raise InputError(
            "export.graph_rewriters: cast_precision changes the precision, and the target does not include it; leave "
            "it out, and use --precision fp16"
        )
    check_plugin(export.plugin)
