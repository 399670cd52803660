"""A checkpoint with another number of classes than its config: which key of the config says how many there are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zoo.errors import InputError

Shape = tuple[int, ...]
KEY = "num_classes"
BESIDE = (0, 1, 5)  # what a layer gives beside the classes: nothing, the background, YOLO's box and objectness


class StateMismatchError(InputError):
    """Weights of another model. `shapes`: where shapes alone differ, (the weights' shape, the model's) by tensor."""

    def __init__(self, message: str, shapes: Mapping[str, tuple[Shape, Shape]]) -> None:
        super().__init__(message)
        self.shapes = shapes


def class_count_hint(model: Mapping[str, Any], shapes: Mapping[str, tuple[Shape, Shape]]) -> str | None:
    """What to set in a config's `model` so that it has as many classes as the weights; None where that is not it.

    Every tensor must differ in its first axis alone, by a layer's outputs for each class: k * (classes + b), with one
    number of classes for all tensors.
    """
    if not shapes or any(saved[1:] != own[1:] or not saved or not own for saved, own in shapes.values()):
        return None
    counts = [(saved[0], own[0]) for saved, own in shapes.values()]
    for path, number in _keys(model, "model"):
        for beside in BESIDE:
            classes = _classes(counts, number, beside)
            if classes is not None:
                return f"set {path}={classes}: it has {classes} classes, and the config {number}"
    return None


def _classes(counts: Sequence[tuple[int, int]], number: int, beside: int) -> int | None:
    """The one number of classes that explains all counts of outputs, (saved, own); None where there is none."""
    found = set()
    for saved, own in counts:
        times, rest = divmod(own, number + beside)
        if rest or saved % times:
            return None
        found.add(saved // times - beside)
    classes = found.pop() if len(found) == 1 else 0
    return classes if classes > 0 else None


def _keys(section: Mapping[str, Any], path: str) -> Iterator[tuple[str, int]]:
    """Every number of classes in a config's section, with its dotted name."""
    for key, value in section.items():
        if key == KEY and isinstance(value, int) and value > 0:
            yield f"{path}.{key}", value
        elif isinstance(value, Mapping):
            yield from _keys(value, f"{path}.{key}")
