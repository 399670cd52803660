"""The base of all tasks."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from zoo.errors import InputError, nearest
from zoo.input_kinds import InputKind, input_kind
from zoo.target import LEVELS
from zoo.tasks.class_info import ClassInfo
from zoo.tasks.output_role import Roles
from zoo.tasks.result import Classes, Result
from zoo.tensor_spec import TensorSpec

Array = NDArray[Any]


class Task(ABC):
    """What a model does. `classes[i]` is the class with the model's own id i.

    Raises InputError where a task that has classes is given none, and where one that has none is given some. A new task
    is a subclass with `register_task` above it.
    """

    name: ClassVar[str]
    metric: ClassVar[str | None]
    """The name in zoo.registry.METRICS of the metric that judges this task; None where only the user's own can."""
    result_type: ClassVar[type[Result]]
    """What `results` gives, and the other verbs take."""
    proof_class: ClassVar[str]
    """Its TaskProof as "module:Class"; by name, because production does not have what that needs."""
    output_roles: ClassVar[Roles] = {}
    """What the outputs of its graphs are, by name, at any level; one that is not named has no role."""
    suffixes: ClassVar[tuple[str, ...]]
    """Of the files that `files` may give."""
    truth: ClassVar[tuple[str, ...]]
    """What the ground truth of one image consists of, by the keys of a data set's item: what a model learns from."""
    input_kind: ClassVar[str] = "image"
    """What its models take: the name of a kind of zoo.input_kinds."""
    has_classes: ClassVar[bool] = True
    chooses_a_class: ClassVar[bool] = False
    """Whether each image, or each pixel, gets one of the classes: a model of one class has nothing to choose."""
    learns_own_data: ClassVar[bool] = True
    """Whether its models are trained on a config's `train_dataset`."""
    takes_image_sizes: ClassVar[bool] = False
    """Whether its models take the valid region of each image of a padded batch."""
    gates: ClassVar[Mapping[str, Mapping[str, float]]] = {}
    """Gates that this task alone has, beside those of pipeline.parity.gates: {"graph": {...}, "pipeline": {...}}."""
    OPTIONS: ClassVar[Mapping[str, type | tuple[str, ...]]] = {}
    """Keywords of the constructor beside `classes`, and attributes: what a config may ask for.

    `bool`: True or False, off by default; `tuple`: a list of names, empty by default; a tuple of names: one of them,
    the first by default.
    """

    def __init__(self, classes: Iterable[ClassInfo | Mapping[str, Any]]) -> None:
        self.classes = tuple(info if isinstance(info, ClassInfo) else ClassInfo.from_dict(info) for info in classes)
        if self.classes and not self.has_classes:
            raise InputError(f"task {self.name}: got {len(self.classes)} classes, but it has none; leave them out")
        if not self.classes and self.has_classes:
            raise InputError(f"task {self.name}: no classes; list them all, index = the model's own id")

    @property
    def kind(self) -> InputKind:
        """What its models take."""
        return input_kind(self.input_kind)

    @property
    def own_result_type(self) -> type[Result]:
        """Of the results of this very task: `result_type`, or a subclass that its options choose."""
        return self.result_type

    @property
    def options(self) -> dict[str, bool | str | list[str]]:
        """The options that are on: what a manifest must keep, beside name and classes, to build this task again."""
        on: dict[str, bool | str | list[str]] = {}
        for name, kind in self.OPTIONS.items():
            value = getattr(self, name)
            if value and not (isinstance(kind, tuple) and value == kind[0]):
                on[name] = list(value) if isinstance(value, tuple) else value
        return on

    @property
    def roles(self) -> Roles:
        """What the outputs of this very task's graphs are, by name: `output_roles`, or what its options say."""
        return self.output_roles

    @property
    def own_gates(self) -> dict[str, dict[str, float]]:
        """The gates that this task or its input kind has, beside those of pipeline.parity.gates or in their place."""
        comparisons = (*self.kind.gates, *self.gates)
        return {name: {**self.kind.gates.get(name, {}), **self.gates.get(name, {})} for name in comparisons}

    def class_name(self, label: int) -> str:
        """The name of a class for people; the id itself where it is not one of the classes."""
        return self.classes[label].name if 0 <= label < len(self.classes) else str(label)

    def class_ids(self, classes: Classes) -> list[int]:
        """The model's own ids of classes that are named, or given by id. Raises InputError, naming the nearest."""
        ids: list[int] = []
        for wanted in [classes] if isinstance(classes, str | int) else classes:
            matches = [label for label, info in enumerate(self.classes) if wanted in (info.name, label)]
            if not matches:
                names = [info.name for info in self.classes]
                hint = nearest(str(wanted), names) if names else f"task {self.name} has no classes"
                raise InputError(f'unknown class "{wanted}"; {hint}')
            ids += matches
        return ids

    def check_preprocess(self, rule: Any) -> None:  # noqa: B027 - most tasks take every rule
        """Raises InputError where the task's results would be wrong with this preprocessing."""

    def outputs(self, level: str = "final") -> tuple[TensorSpec, ...]:
        """The contract: the tensors that every graph of this task gives at a level, in order.

        Axes that the graph decides are named: N batch, H W the input's height and width, sH sW the same enlarged, K
        maximum detections, P proposals or keypoints. The shape is () where a run of the model tells it. Empty for level
        "raw", the head's own tensors under its own names, and for levels that the task does not have. InputError for
        another level.
        """
        if level not in LEVELS:
            raise InputError(f'unknown output level "{level}"; {nearest(str(level), LEVELS)}')
        return self._outputs(level)

    def results(self, outputs: Mapping[str, Array], geometries: Sequence[Any]) -> list[Result]:
        """One result for each geometry, in the coordinates of its image, from a batch of `final` outputs.

        Results own their arrays, and know this task. Slots of the batch past the last geometry are ignored. Raises
        InputError where a `final` tensor is missing: the other levels have no results.
        """
        for spec in self._outputs("final"):
            if spec.name not in outputs:
                raise InputError(
                    f'{self.name}: no output "{spec.name}" among {", ".join(outputs)}; only output level "final" has '
                    "results: for other levels use .runner.run(arrays), which gives the tensors themselves"
                )
        results = self._results(outputs, geometries)
        return [result.of_task(self, geometry) for result, geometry in zip(results, geometries, strict=True)]

    def draw(self, image: Array, result: Result) -> Array:
        """The image, uint8 [h, w, 3] BGR, with the result drawn on it. A copy; the same image on every run.

        What is NaN or infinite is left out. Raises InputError where the result is another task's.
        """
        if not isinstance(result, self.result_type):
            raise InputError(f"{self.name} cannot draw a {type(result).__name__}; give a result of this task")
        return self._draw(image, result.finite())

    def with_truth(self, drawing: Array, value: Array, truth: Mapping[str, Any]) -> Array:
        """What `draw` gave for the input `value`, with the ground truth of an item on it; here as it is."""
        return drawing

    @abstractmethod
    def amount(self, result: Any) -> int:
        """How many objects or classes a result has: the more, the more of the model it used."""

    @abstractmethod
    def caption(self, result: Any) -> str:
        """A few words for what `draw` shows, for those who do not see it."""

    def shown(self, result: Any) -> Result:
        """The part of a result that a preview draws: all, where nothing hides the rest."""
        whole: Result = result
        return whole

    @abstractmethod
    def files(self, image: Array, result: Any) -> Iterator[tuple[str, bytes]]:
        """The result as files: for each the suffix of its name, one of `suffixes`, and its content."""

    @abstractmethod
    def _outputs(self, level: str) -> tuple[TensorSpec, ...]: ...

    @abstractmethod
    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Any]) -> list[Result]: ...

    @abstractmethod
    def _draw(self, image: Array, result: Any) -> Array: ...
