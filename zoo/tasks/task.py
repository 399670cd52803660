"""The base of all tasks."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from zoo.errors import InputError, nearest
from zoo.preprocess import Geometry
from zoo.structures import Result
from zoo.target import LEVELS
from zoo.tasks.class_info import ClassInfo
from zoo.tensor_spec import TensorSpec

Array = NDArray[Any]


class Task(ABC):
    """What a model does. `classes[i]` is the class with the model's own id i.

    Raises InputError where a task that has classes is given none, and where one that has none is given some.
    """

    name: ClassVar[str]
    metric: ClassVar[str]
    """The name in zoo.registry.METRICS of the metric that judges this task."""
    has_classes: ClassVar[bool] = True
    OPTIONS: ClassVar[tuple[str, ...]] = ()
    """Keywords of the constructor beside `classes`, and attributes: what a config may ask for, off by default."""

    def __init__(self, classes: Iterable[ClassInfo | Mapping[str, Any]]) -> None:
        self.classes = tuple(info if isinstance(info, ClassInfo) else ClassInfo.from_dict(info) for info in classes)
        if self.classes and not self.has_classes:
            raise InputError(f"task {self.name}: got {len(self.classes)} classes, but it has none; leave them out")
        if not self.classes and self.has_classes:
            raise InputError(f"task {self.name}: no classes; list them all, index = the model's own id")

    @property
    def options(self) -> dict[str, bool]:
        """The options that are on: what a manifest must keep, beside name and classes, to build this task again."""
        return {name: True for name in self.OPTIONS if getattr(self, name)}

    def class_name(self, label: int) -> str:
        """The name of a class for people; the id itself where it is not one of the classes."""
        return self.classes[label].name if 0 <= label < len(self.classes) else str(label)

    def outputs(self, level: str = "final") -> tuple[TensorSpec, ...]:
        """The contract: the tensors that every graph of this task gives at a level, in order.

        Axes that the graph decides are named: N batch, H W the input's height and width, sH sW the same enlarged, K
        maximum detections, P proposals or keypoints. Empty for level "raw", the head's own tensors under its own names,
        and for levels that the task does not have. InputError for another level.
        """
        if level not in LEVELS:
            raise InputError(f'unknown output level "{level}"; {nearest(str(level), LEVELS)}')
        return self._outputs(level)

    def results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]:
        """One result for each geometry, in the coordinates of its image, from a batch of `final` outputs.

        Results own their arrays. Slots of the batch past the last geometry are ignored. Raises InputError where a
        `final` tensor is missing: the other levels have no results.
        """
        for spec in self._outputs("final"):
            if spec.name not in outputs:
                raise InputError(
                    f'{self.name}: no output "{spec.name}" among {", ".join(outputs)}; only output level "final" has '
                    "results: for other levels use .runner.run(arrays), which gives the tensors themselves"
                )
        return self._results(outputs, geometries)

    @abstractmethod
    def draw(self, image: Array, result: Result) -> Array:
        """The image, uint8 [h, w, 3] BGR, with the result drawn on it. A copy; the same picture on every run.

        Raises InputError where the result is another task's.
        """

    @abstractmethod
    def _outputs(self, level: str) -> tuple[TensorSpec, ...]: ...

    @abstractmethod
    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]: ...

    def _wrong_result(self, result: object) -> InputError:
        return InputError(f"{self.name} cannot draw a {type(result).__name__}; give a result of this task")
