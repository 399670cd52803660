"""The deployments that are evaluated: found, made where they are missing, and checked against the config."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pipeline.base.steps import CHECK, BeginStep, unseen
from pipeline.deploying import make_deployment
from pipeline.evaluation.input_policy import InputPolicy
from pipeline.evaluation.result_store import as_file_name
from pipeline.job.deploy_target import default_target, deploy_target, target_preprocess
from pipeline.job.deployment_axes import deployment_axes
from pipeline.job.deployment_path import deployment_place
from pipeline.job.job import plan_job
from zoo.cards import config_sha256
from zoo.config import ModelConfig
from zoo.errors import InputError
from zoo.families.layouts import layout_of
from zoo.input_specs import IMAGE_SIZES, SCORE_THRESHOLD
from zoo.manifest import Manifest
from zoo.target import BATCH, REFERENCE_BACKEND, Target
from zoo.tasks import ClassInfo
from zoo.windows import WINDOW_BATCH


@dataclass(frozen=True)
class Candidate:
    """A deployment's ``folder`` and what stands in it. ``name``: the folder's name, made distinct where two are
    alike.
    """

    name: str
    folder: Path
    manifest: Manifest

    @property
    def input_policy(self) -> InputPolicy:
        """How the deployment is fed."""
        return InputPolicy(self.manifest.preprocess, image_sizes=_takes_sizes(self.manifest))


def deployed(
    config: ModelConfig,
    target: Target,
    weights: str,
    checkpoint: str | Path | None,
    work_dir: str | Path,
    progress: BeginStep | None,
) -> Path:
    """The folder of the config's deployment for a target: the one that is there, or else a new one.

    ``weights``: the sha256 of the model that the config builds. Raises what a deploy raises.
    """
    default = default_target(config, target.backend, target.precision)
    place = deployment_place(work_dir, config.task.name, config.name, target, default)
    if _is_current(config, target, weights, place):
        return place
    progress = progress or unseen
    progress(CHECK)
    return make_deployment(plan_job(config, target, (), work_dir), checkpoint, progress=progress).place


def _is_current(config: ModelConfig, target: Target, weights: str, place: Path) -> bool:
    """Whether there is a deployment at the place, of this model as it is now."""
    try:
        manifest = Manifest.read_verified(place)
    except InputError:
        return False
    host = None if target.slide == "graph" else target.window_batch or WINDOW_BATCH
    axes = deployment_axes(manifest, config.task.kind)
    requested = (
        *(target.backend, target.precision, target.exporter, target.opset),
        *({axis: target.axes[axis] for axis in axes}, target.layout),
        *(target.level, target.image_sizes, target.thresholds, host),
        {} if target.engine is None else target.engine.to_dict(),
        None if target.precision == "fp32" else target.precision_options.to_dict(),
    )
    recorded = (
        *(manifest.backend, manifest.precision["stored"], manifest.exporter, manifest.opset),
        *(axes, layout_of([spec.name for spec in manifest.outputs])),
        *(
            manifest.target_level,
            _takes_sizes(manifest),
            SCORE_THRESHOLD.name in manifest.defaults,
            manifest.windows and manifest.windows.batch,
        ),
        manifest.engine,
        manifest.precision.get("options"),
    )
    return requested == recorded and manifest.parity["verdict"] == "passed" and not _faults(manifest, config, weights)


def candidates(config: ModelConfig, folders: list[Path], weights: str) -> list[Candidate]:
    """The deployments in the folders, each once. ``weights``: the sha256 of the model that the config builds.

    Raises InputError where a folder is no deployment, or the deployment is not one of this config's model: another
    task, other classes or weights, images fed by another rule. All faults of a deployment are in one message.
    """
    listed: list[Candidate] = []
    taken = {REFERENCE_BACKEND}
    for resolved, folder in {path.resolve(): path for path in folders}.items():
        manifest = Manifest.read_verified(folder)
        if faults := _faults(manifest, config, weights):
            raise InputError(
                f"deployment {folder} is not of {config.path}: {'; '.join(faults)}; deploy this config again, or "
                "evaluate the deployment with the config and checkpoint that it was made from"
            )
        listed.append(Candidate(_free_name(resolved.name, taken), folder, manifest))
    return listed


def _free_name(name: str, taken: set[str]) -> str:
    """The name, numbered where it would lead to the same file as one that is taken; it is taken then, too."""
    names = (name if number == 1 else f"{name} ({number})" for number in itertools.count(1))
    free = next(each for each in names if as_file_name(each).casefold() not in taken)
    taken.add(as_file_name(free).casefold())
    return free


def _faults(manifest: Manifest, config: ModelConfig, weights: str) -> list[str]:
    """Why a deployment is not one of this config's model."""
    task = config.task
    faults = []
    if manifest.task != task.name:
        return [f"its task is {manifest.task}, expected {task.name}"]
    if manifest.output_level != "final":
        faults.append(f'its output level is "{manifest.output_level}", which no metric judges; expected "final"')
    if manifest.classes != task.classes:
        faults.append(_class_fault(manifest.classes, task.classes))
    if dict(manifest.task_options) != task.options:
        faults.append(f"its task has the options {dict(manifest.task_options)}, expected {task.options}")
    rule = _rule(manifest, config)
    if manifest.preprocess != rule:
        wrong = [
            f"{name} {getattr(manifest.preprocess, name)!r}, expected {getattr(rule, name)!r}"
            for name in (field.name for field in fields(rule))
            if getattr(manifest.preprocess, name) != getattr(rule, name)
        ]
        faults.append(f"it feeds {task.kind.noun}s by another rule ({', '.join(wrong)})")
    if manifest.config is not None and manifest.config["sha256"] != config_sha256(config):
        code = ", or the files beside the config that they name" if config.source_hashes(("model", "task")) else ""
        faults.append(f"its architecture or thresholds differ (the sections model and export.forward{code})")
    if manifest.checkpoint is not None and manifest.checkpoint["sha256"] != weights:
        faults.append(f"its weights differ (sha256 {manifest.checkpoint['sha256'][:12]}, expected {weights[:12]})")
    return faults


def _takes_sizes(manifest: Manifest) -> bool:
    return any(spec.name == IMAGE_SIZES.name for spec in manifest.inputs)


def _rule(manifest: Manifest, config: ModelConfig) -> Any:
    """The config's rule for the sizes that the deployment takes."""
    axes = deployment_axes(manifest, config.task.kind)
    axes.pop(BATCH, None)
    return target_preprocess(config, deploy_target(config, axes))


def _class_fault(classes: Sequence[ClassInfo], expected: Sequence[ClassInfo]) -> str:
    """How many there are, or the first that differs: a model may have thousands."""
    if len(classes) != len(expected):
        return f"it has {len(classes)} classes, expected {len(expected)}"
    number = next(number for number, info in enumerate(classes) if info != expected[number])
    own, wanted = (f'"{info.name}" with category_id {info.category_id}' for info in (classes[number], expected[number]))
    return f"its class {number} is {own}, expected {wanted}"
