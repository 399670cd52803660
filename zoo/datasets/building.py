"""Building a data set from a config's section."""

from collections.abc import Mapping
from typing import Any

from zoo.arguments import wrong_arguments
from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.errors import InputError
from zoo.registry import DATASETS, registered_class
from zoo.tasks import Task

CLASSES = "classes"  # the parameter that the task gives, not the config


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
    dataset: EvaluationDataset = made_of(**options, classes=task.classes)
    return dataset
