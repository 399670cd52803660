"""Building a data set from a config's section."""

import inspect
import typing
from collections.abc import Mapping
from typing import Any

from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.errors import InputError, nearest
from zoo.registry import DATASETS
from zoo.tasks import Task

CLASSES = "classes"  # the parameter that the task gives, not the config


def build_dataset(section: Mapping[str, Any], task: Task) -> EvaluationDataset:
    """From `dict(type="CocoDetection", images=..., annotations=...)`, for the classes of a task.

    Raises InputError for an unknown type or argument (naming the nearest), one that is missing or of another type, and
    for the faults of the files, all together.
    """
    options = dict(section)
    kind = options.pop("type", None)
    known = {
        name: made
        for name, made in DATASETS.module_dict.items()
        if inspect.isclass(made) and issubclass(made, EvaluationDataset)
    }
    if kind not in known:
        raise InputError(f'unknown dataset type "{kind}"; {nearest(str(kind), known)}')
    faults = list(_wrong_arguments(known[kind], options))
    if faults:
        raise InputError(f"dataset {kind} cannot be built from its config: {'; '.join(faults)}")
    dataset: EvaluationDataset = known[kind](**options, classes=task.classes)
    return dataset


def _wrong_arguments(kind: type[EvaluationDataset], options: Mapping[str, Any]) -> typing.Iterator[str]:
    hints = typing.get_type_hints(kind.__init__)
    parameters = {name: parameter for name, parameter in inspect.signature(kind).parameters.items() if name != CLASSES}
    for name, value in options.items():
        if name not in parameters:
            yield f'unknown argument "{name}"; {nearest(name, parameters)}'
        elif not _fits(value, hints.get(name, Any)):
            yield f'argument "{name}": got {value!r}, expected {_names(hints[name])}'
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in options:
            yield f'argument "{name}" is missing'


def _fits(value: object, hint: Any) -> bool:
    try:
        return isinstance(value, hint)
    except TypeError:  # a hint that says more than a class, such as list[int]: the data set's own affair
        return True


def _names(hint: Any) -> str:
    """A type or union of types, in words."""
    kinds = typing.get_args(hint) or (hint,)
    return " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
