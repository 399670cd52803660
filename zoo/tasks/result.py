"""What a model found in one input: the base of all results."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NoReturn, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from zoo.errors import InputError
from zoo.tasks.class_info import ClassInfo

Classes = str | int | Collection[str | int]
"""Classes by name or by the model's own id; one, or several."""


class TaskOfResult(Protocol):
    """The part of a task that its results use."""

    name: ClassVar[str]
    classes: tuple[ClassInfo, ...]

    def class_name(self, label: int) -> str:
        """Of the model's own id."""

    def class_ids(self, classes: Classes) -> list[int]:
        """The model's own ids."""

    def draw(self, image: NDArray[Any], result: Any) -> NDArray[Any]:
        """The image with the result on it."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Immutable: a subclass is a frozen dataclass of read-only arrays, in the coordinates of its input.

    Results are equal if they have the same class, and if all their arrays have the same dtype, shape and content.
    Subclasses set `eq=False`, because dataclasses would compare the arrays themselves. A result from a model has a
    `task`, and with it the names of classes, and a `geometry`: the place of its input in the tensor. A result that was
    built by hand has neither.

    Conversions that have no meaning for a task raise InputError.
    """

    task: ClassVar[TaskOfResult | None] = None
    geometry: ClassVar[Any] = None
    columns: ClassVar[Mapping[str, str]] = {}
    """Of `rows`: name -> "string" or numpy's dtype. Empty where the task has no rows."""
    has_scores: ClassVar[bool] = False
    has_coco: ClassVar[bool] = False
    """Whether `to_coco` has a meaning."""

    def of_task(self, task: TaskOfResult | None, geometry: Any) -> Self:
        """Set the task and the geometry of this result, and return it."""
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "geometry", geometry)
        return self

    def finite(self) -> Self:
        """Without what is NaN or infinite, where it consists of parts that can be left out; here all of it."""
        return self

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it consists of, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`. Raises TypeError for names that are not its own."""
        return cls(**arrays)

    @property
    def names(self) -> dict[int, str]:
        """The name of each class, by the model's own id; empty if the result was built by hand."""
        return {} if self.task is None else {label: info.name for label, info in enumerate(self.task.classes)}

    def class_name(self, label: int) -> str:
        """The name of a class, by the model's own id; the id itself if its name is not known."""
        return str(label) if self.task is None else self.task.class_name(label)

    def filter(self, *, score: float | None = None, classes: Classes | None = None) -> Self:
        """The part of the result with at least that score and of one of the classes."""
        self._refuse("score or class to filter by")

    def to_dict(self) -> dict[str, Any]:
        """Plain types, fit for JSON: numbers that are not finite are None."""
        return {name: plain(array) for name, array in self.arrays.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Rows of a table: for each the values of `columns`, plain types."""
        return []

    def to_coco(self, image_id: int) -> list[dict[str, Any]]:
        """COCO's results of one image, as `pycocotools.coco.COCO.loadRes` takes them."""
        self._refuse("COCO form")

    def to_supervision(self) -> Any:
        """The same for the library supervision (extra `[supervision]`). BackendUnavailableError without it."""
        self._refuse("form in supervision")

    def draw(self, image: NDArray[Any]) -> NDArray[Any]:
        """The image, uint8 [h, w, 3] BGR, with the result drawn on it: a copy."""
        if self.task is None:
            raise InputError(f"a {type(self).__name__} built by hand has no task; use task.draw(image, result)")
        return self.task.draw(image, self)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        ours, theirs = self.arrays, other.arrays
        return ours.keys() == theirs.keys() and all(
            one.dtype == theirs[name].dtype and np.array_equal(one, theirs[name]) for name, one in ours.items()
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def summary(self) -> str:
        """What it is, in a few words."""
        return ", ".join(f"{name} {array.dtype} {list(array.shape)}" for name, array in self.arrays.items())

    def _category(self, label: int) -> int | None:
        """The data set's id of a class; None where it has none."""
        if self.task is None:
            raise InputError(f"a {type(self).__name__} built by hand has no categories; use one that a model gave")
        classes = self.task.classes
        return classes[label].category_id if 0 <= label < len(classes) else None

    def _ids(self, classes: Classes) -> list[int]:
        if self.task is not None:
            return self.task.class_ids(classes)
        ids = [classes] if isinstance(classes, str | int) else list(classes)
        if any(isinstance(each, str) for each in ids):
            raise InputError("a result built by hand has no names of classes; give the model's own ids")
        return [int(each) for each in ids]

    def _refuse(self, what: str) -> NoReturn:
        task = type(self).__name__ if self.task is None else f"task {self.task.name}"
        raise InputError(f"{task} has no {what}; use the result's arrays, or .to_dict()")


def frozen_array(values: ArrayLike, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """A read-only view of `values`, converted to `dtype` where it differs. The caller's own array stays writable."""
    view = np.asarray(values, dtype).view()
    view.setflags(write=False)
    return view


def plain(values: NDArray[Any]) -> Any:
    """An array as nested lists, or one number; None for what is not finite, which JSON cannot say."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        objects = values.astype(object)
        objects[~np.isfinite(values)] = None
        return objects.tolist()
    return values.tolist()


def counted(names: Sequence[str], most: int = 4) -> str:
    """Names with how often each comes, the most frequent first: "dog (2), cat"."""
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    words = [name if count == 1 else f"{name} ({count})" for name, count in ranked[:most]]
    return ", ".join(words) + (f" and {len(ranked) - most} more" if len(ranked) > most else "")
