"""What one evaluation is about, checked before the first image is run."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mmengine.config import Config
from zoo.datasets.building import build_dataset
from zoo.datasets.digits_cache import ensure_split
from zoo.metrics.metric import Metric

from pipeline.evaluation.hooks import Progress
from pipeline.evaluation.numbered import Numbered
from zoo.errors import InputError, nearest
from zoo.registry import METRICS
from zoo.tasks import Task, build_task

FOLDER = "evaluation"


@dataclass(frozen=True)
class Plan:
    """``dataset``: the images to run, with their truth. ``place``: where results are kept while an evaluation runs."""

    config: Config
    task: Task
    dataset: Numbered
    section: Mapping[str, Any]
    place: Path

    @property
    def name(self) -> str:
        """The config's file name without its ending."""
        return Path(self.config.filename).stem

    @property
    def forward(self) -> dict[str, Any]:
        """Keyword arguments of the model's forward."""
        return dict(self.config.get("export", {}).get("forward", {}))

    def metric(self) -> Metric | None:
        """A new metric, None where the config has no evaluator. Raises InputError for an unknown one or its options."""
        section = self.config.get("evaluator")
        if section is None:
            return None
        if METRICS.get(section["type"]) is None:
            known = METRICS.module_dict
            raise InputError(f'unknown evaluator type "{section["type"]}"; {nearest(section["type"], known)}')
        try:
            metric = METRICS.build(dict(section))
        except (TypeError, ValueError, KeyError) as error:
            raise InputError(f"evaluator {section['type']} cannot be built from its config: {error}") from error
        if not isinstance(metric, Metric):
            raise InputError(f"evaluator {section['type']}: not a metric of the zoo; derive it from zoo.metrics.Metric")
        return metric


def plan_evaluation(config: Config, work_dir: str | Path, *, limit: int | None, gate_split: bool) -> Plan:
    """Check the data set and the evaluator. Raises InputError with all that is wrong in the data."""
    if limit is not None and limit < 1:
        raise InputError(f"--limit {limit}: expected 1 or more images")
    task = build_task(config.task)
    section = data_section(config, gate_split=gate_split)
    dataset = Numbered(build_dataset(section, task), limit)
    if not len(dataset):
        raise InputError(f"data set {section['type']} of {config.filename}: no images; correct its paths")
    place = Path(work_dir) / task.name / Path(config.filename).stem / FOLDER
    plan = Plan(config, task, dataset, section, place)
    plan.metric()
    return plan


def make_gate_split(config: Config, progress: Progress | None = None) -> None:
    """Make the gate split where the config asks for a split of the digits that is made on this machine, once."""
    section = data_section(config, gate_split=True)
    if section["type"].startswith("Digits") and "root" not in section:
        ensure_split(section["split"], None if progress is None else partial(progress, "gate split"))


def data_section(config: Config, *, gate_split: bool) -> Mapping[str, Any]:
    """The config's section of the data set to run on."""
    key = "gate_dataset" if gate_split else "dataset"
    if key not in config:
        raise InputError(
            f'config {config.filename}: no "{key}" to evaluate on; add {key}=dict(type="CocoDetection", ...)'
        )
    section: Mapping[str, Any] = config[key].to_dict()
    return section
