"""What one evaluation is about, checked before the first image is run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from pipeline.evaluation.indexed_dataset import IndexedDataset
from pipeline.inputs.named_input import NamedInput, input_of
from pipeline.job.deploy_target import target_preprocess
from pipeline.job.image_sizes import check_image_sizes
from pipeline.parity.bound_task import bound_task
from pipeline.parity.gates import merged_gates
from zoo.config import ModelConfig, config_target
from zoo.datasets.building import config_dataset
from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.datasets.files.faults import Faults
from zoo.errors import InputError
from zoo.families import checked_divisor
from zoo.input_kinds import InputKind
from zoo.metrics import Metric, build_metric
from zoo.progress import Progress
from zoo.registry import DATASETS, registered_class
from zoo.tasks import Task

FOLDER = "evaluation"


@dataclass(frozen=True)
class Plan:
    """``dataset``: the images to run, with their truth. ``place``: where results are kept while an evaluation runs."""

    config: ModelConfig
    task: Task
    dataset: IndexedDataset
    section: Mapping[str, Any]
    place: Path

    def metric(self) -> Metric | None:
        """A new metric, None where the config has no evaluator. Raises InputError, see build_metric."""
        section = self.config.evaluator
        return None if section is None else build_metric(section)


def bound_plan(plan: Plan, model: nn.Module) -> Plan:
    """The plan and its config, whose task knows what only a run of the model tells. ``model``: unpatched, in eval mode.

    Raises InputError where the model does not fit the task.
    """
    config, kind = plan.config, plan.task.kind
    target = config_target(config)
    rule = target_preprocess(config, target)

    def images() -> list[NamedInput]:
        checked_divisor(model, target)  # before the model is run at a size that it does not take
        return [input_of(kind, plan.dataset.dataset.image_item(place)) for place in range(min(2, len(plan.dataset)))]

    task = bound_task(plan.task, model, config.export.forward, images, target, rule)
    return replace(plan, task=task, config=replace(config, task=task))


def plan_evaluation(config: ModelConfig, work_dir: str | Path, *, limit: int | None, gate_split: bool) -> Plan:
    """Check the data set and the evaluator. Raises InputError with all that is wrong in the data."""
    task, target = config.task, config_target(config)
    if target.image_sizes:
        check_image_sizes(task, target_preprocess(config, target))
    key = data_key(config, gate_split=gate_split)
    section, dataset = getattr(config, key), IndexedDataset(config_dataset(config, key), limit)
    if not len(dataset):
        raise InputError(f"data set {section['type']} of {config.path}: no {task.kind.plural}; correct its paths")
    _check_sizes(task.kind, dataset)
    place = Path(work_dir) / task.name / config.name / FOLDER
    plan = Plan(config, task, dataset, section, place)
    _check_truth(plan)
    return plan


def _check_sizes(kind: InputKind, dataset: IndexedDataset) -> None:
    """Raises InputError with all inputs that no model takes; known from the files' headers, before one is read."""
    faults = Faults(type(dataset.dataset).__name__)
    for entry in dataset.dataset.entries[: len(dataset)]:
        if fault := kind.stored_fault(entry.size):
            faults.add(entry.path, fault)
    faults.raise_any()


def _check_truth(plan: Plan) -> None:
    """Whether the first item has what the metric asks for; the gates are read, too."""
    merged_gates(plan.config.gates, own=plan.task.own_gates)
    metric, section = plan.metric(), plan.config.evaluator
    if metric is None or section is None:
        return
    missing = ", ".join(key for key in metric.truth if key not in plan.dataset[0])
    if missing:
        raise InputError(
            f"config {plan.config.path}: evaluator {section['type']} needs {missing}, which "
            f"dataset {plan.section['type']} does not have; give this task's evaluator, and a data set with its "
            "ground truth"
        )


def make_gate_split(config: ModelConfig, progress: Progress | None = None) -> None:
    """Make the gate split, once, where its data set can. Raises InputError for an unknown data set."""
    section = getattr(config, data_key(config, gate_split=True))
    registered_class(DATASETS, EvaluationDataset, "dataset", section["type"]).prepare(section, progress)


def data_key(config: ModelConfig, *, gate_split: bool) -> str:
    """The key of the config's data set to run on. Raises InputError where the config has none."""
    key = "gate_dataset" if gate_split else "dataset"
    if getattr(config, key) is None:
        raise InputError(f'config {config.path}: no "{key}" to evaluate on; add {key}=dict(type="CocoDetection", ...)')
    return key
