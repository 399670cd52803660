"""From a data set's names of classes to the model's own ids."""

from collections.abc import Sequence
from typing import Literal

from zoo.errors import InputError
from zoo.tasks import ClassInfo


def labels_by_category(classes: Sequence[ClassInfo]) -> dict[int, int]:
    """category_id -> the model's id (the index in `classes`); classes without a category_id are left out.

    Raises InputError where two classes share one: the truth could not say which is meant.
    """
    labels: dict[int, int] = {}
    for label, info in enumerate(classes):
        if info.category_id is not None:
            _check_new("category_id", info.category_id, label, labels.get(info.category_id))
            labels[info.category_id] = label
    return labels


def labels_by_name(classes: Sequence[ClassInfo]) -> dict[str, int]:
    """Name -> the model's id (the index in `classes`). Raises InputError where two classes share one."""
    labels: dict[str, int] = {}
    for label, info in enumerate(classes):
        _check_new("name", info.name, label, labels.get(info.name))
        labels[info.name] = label
    return labels


def _check_new(field: Literal["category_id", "name"], value: object, label: int, before: int | None) -> None:
    if before is not None:
        raise InputError(
            f"classes {before} and {label} of the task: both have {field} {value!r}, expected each {field} once; "
            "fix one of them in the config's task"
        )
