"""The objects found in one image."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.geometry.box_form import BoxForm
from zoo.geometry.upright_boxes import UPRIGHT
from zoo.optional_library import optional_library
from zoo.tasks.result import Classes, Result, counted, frozen_array, plain


def columns_of(form: BoxForm) -> dict[str, str]:
    """The `columns` of a result whose boxes have this form."""
    return {"class": "string", "label": "int64", "score": "float32", **dict.fromkeys(form.columns, "float32")}


class Detected(NamedTuple):
    """One object: the name of its class, its score, the model's own id of its class, and its box, as the result's."""

    name: str
    score: float
    label: int
    box: NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class DetectionResult(Result):
    """n detections in the model's order, best score first. Arrays are read-only; equal by value.

    `boxes` float32 [n, 4]: x1 y1 x2 y2 in pixels of the image. `scores` float32 [n], 0..1. `labels` int64 [n]: the
    model's own ids, an index into the task's classes. Raises InputError where the lengths differ. A loop over it gives
    each object by itself, as `Detected`.
    """

    has_scores: ClassVar[bool] = True
    has_coco: ClassVar[bool] = True
    columns: ClassVar[Mapping[str, str]] = columns_of(UPRIGHT)
    dtypes: ClassVar[Mapping[str, type]] = {"labels": np.int64}
    """Of the arrays that are not float32."""
    form: ClassVar[BoxForm] = UPRIGHT
    """Of its boxes. A result of other boxes is a subclass with another form, and `columns` that have its names."""

    boxes: NDArray[np.float32]
    scores: NDArray[np.float32]
    labels: NDArray[np.int64]

    def __post_init__(self) -> None:
        for field in fields(self):
            dtype = self.dtypes.get(field.name, np.float32)
            object.__setattr__(self, field.name, frozen_array(getattr(self, field.name), dtype))
        count, numbers = len(self.scores), len(self.form.columns)
        if self.boxes.shape != (count, numbers) or self.scores.shape != (count,) or self.labels.shape != (count,):
            raise InputError(
                f"detections: got boxes {list(self.boxes.shape)}, scores {list(self.scores.shape)}, labels "
                f"{list(self.labels.shape)}; expected [n, {numbers}], [n], [n]"
            )

    def finite(self) -> Self:
        """Without those whose score or box is NaN or infinite: nothing pairs or draws them."""
        return self[np.isfinite(self.scores) & np.isfinite(self.boxes).all(axis=1)]

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, index: int) -> Detected: ...

    @overload
    def __getitem__(self, index: slice | NDArray[Any]) -> Self: ...

    def __getitem__(self, index: int | slice | NDArray[Any]) -> Self | Detected:
        """One object by its number, or the result of some: a slice, a boolean mask [n] or indices.

        For example `result[result.scores > 0.5]`.
        """
        if isinstance(index, int | np.integer):
            label = int(self.labels[index])
            return Detected(self.class_name(label), float(self.scores[index]), label, self.boxes[index])
        some = type(self)(**{field.name: getattr(self, field.name)[index] for field in fields(self)})
        return some.of_task(self.task, self.geometry)

    def __iter__(self) -> Iterator[Detected]:
        return (self[index] for index in range(len(self)))

    def filter(self, *, score: float | None = None, classes: Classes | None = None) -> Self:
        """The objects with that score or a better one, of one of the classes (names, or the model's own ids)."""
        chosen = np.ones(len(self), np.bool_) if score is None else self.scores >= score
        if classes is not None:
            chosen &= np.isin(self.labels, self._ids(classes))
        return self[chosen]

    def to_dict(self) -> dict[str, Any]:
        """{"objects": [{class, box, score, label}, ...]}, best first."""
        return {"objects": self.objects(self.class_name)}

    def objects(self, class_name: Callable[[int], str]) -> list[dict[str, Any]]:
        """[{class, box, score, label}, ...], best first; `class_name` gives the name of a label."""
        columns = self._arrays()
        values = zip(*(plain(column) for column in columns.values()), strict=True)
        objects = [dict(zip(columns, each, strict=True)) for each in values]
        return [{"class": class_name(each["label"]), **each} for each in objects]

    def rows(self) -> list[dict[str, Any]]:
        """One for each object."""
        objects: list[dict[str, Any]] = self.to_dict()["objects"]
        return [each | dict(zip(self.form.columns, each.pop("box"), strict=True)) for each in objects]

    def to_coco(self, image_id: int) -> list[dict[str, Any]]:
        """COCO's results: {image_id, category_id, score, bbox}, bbox x y width height.

        Classes without a category id, and detections that are not finite, have no place there.
        """
        corners = self.boxes.astype(np.float64)
        return self._coco(image_id, bbox=np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], 1).tolist())

    def to_supervision(self) -> Any:
        """`supervision.Detections`, with the names of classes as data["class_name"]."""
        return optional_library("supervision", "supervision", "to_supervision()").Detections(
            xyxy=self.boxes.copy(),
            confidence=self.scores.copy(),
            class_id=self.labels.copy(),
            data={"class_name": np.array([self.class_name(label) for label in self.labels.tolist()], np.str_)},
        )

    def summary(self) -> str:
        """How many of which class, and the best score."""
        if not len(self):
            return "no objects"
        names = [self.class_name(label) for label in self.labels.tolist()]
        return f"{len(self)} object{'s' * (len(self) > 1)}: {counted(names)}; best score {self.scores.max():.2f}"

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """What `objects` says of each object: arrays [n, ...] by name."""
        return {"box": self.boxes, "score": self.scores, "label": self.labels}

    def _coco(self, image_id: int, **shapes: list[Any]) -> list[dict[str, Any]]:
        """COCO's results with these shapes, one for each detection."""
        finite = np.isfinite(self.scores) & np.isfinite(self.boxes).all(axis=1)
        return [
            {"image_id": image_id, "category_id": category, "score": score}
            | {name: values[place] for name, values in shapes.items()}
            for place, (label, score) in enumerate(zip(self.labels.tolist(), self.scores.tolist(), strict=True))
            if finite[place] and (category := self._category(label)) is not None
        ]
