"""Building a data set from a config's section."""

from collections.abc import Mapping
from typing import Any

from zoo.arguments import building, path_arguments, wrong_arguments
from zoo.config import ModelConfig
from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.errors import InputError
from zoo.registry import DATASETS, registered_class
from zoo.tasks import Task

CLASSES = "classes"  # the parameter that the task gives, not the config


def config_dataset(config: ModelConfig, key: str) -> EvaluationDataset:
    """That of a config's section: `key` is "dataset", "train_dataset", "gate_dataset" or "calibration_dataset".

    Arguments that the data set's class takes as paths start at the file in which they are written, see
    ModelConfig.locate. Raises InputError as build_dataset does.
    """
    section = dict(getattr(config, key))
    made_of = registered_class(DATASETS, EvaluationDataset, "dataset", section.get("type"))
    for name in path_arguments(made_of):
        if isinstance(path := section.get(name), str):
            section[name] = str(config.locate(path, key, name))
    return build_dataset(section, config.task)


def build_dataset(section: Mapping[str, Any], task: Task) -> EvaluationDataset:
    """From `dict(type="CocoDetection", images=..., annotations=...)`, for the classes of a task.

    Raises InputError for an unknown type or argument (naming the nearest), one that is missing or of another type, and
    for the faults of the files, all together.
    """
    options = dict(section)
    kind = options.pop("type", None)
    made_of = registered_class(DATASETS, EvaluationDataset, "dataset", kind)
    faults = list(wrong_arguments(made_of, options, (CLASSES,)))
    if faults:
        raise InputError(f"dataset {kind} cannot be built from its config: {'; '.join(faults)}")
    with building(f"dataset {kind}"):
        dataset: EvaluationDataset = made_of(**options, classes=task.classes)
    return dataset
