"""The base of all families of models."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from zoo.comparison.decision_rule import DecisionRule
from zoo.contract.constants import Case, Constant
from zoo.contract.coverage import Usage
from zoo.families.layout import Layout
from zoo.pillars import Pillars
from zoo.target import AxisRange, Target
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec
from zoo.windows import Windows

Result = TypeVar("Result")
Contracts = Mapping[tuple[str, str], type[Contract]]


@dataclass(frozen=True)
class PluginNode:
    """What takes the place of a detector's last steps at level plugin.

    `base`: the level that is exported; `options`: those of the graph rewriter, as the model has them; `outputs`: of the
    graph with the node, axes as in the task's contract.
    """

    base: str
    options: Mapping[str, Any]
    outputs: tuple[TensorSpec, ...]


class Scales(NamedTuple):
    """How many times a model enlarges: the `values` that it was trained for, and the one by `default`.

    `is_input`: whether the graph takes the scale as an input.
    """

    values: tuple[int, ...]
    default: int
    is_input: bool


@dataclass(frozen=True)
class Sliding:
    """Slide inference. `logits`: images of one window [N, 3, h, w] -> [N, `num_classes`, h, w].

    `rewriter`: the name of the function rewriter that puts all windows into one graph.
    """

    windows: Windows
    num_classes: int
    logits: Callable[[Tensor], Tensor]
    rewriter: str


class Family:
    """What zooport needs to know about a model. The defaults are those of a model that belongs to no family.

    A family overrides what differs. Models are passed as arguments: a family holds no model and no state.
    """

    name: ClassVar[str] = "a model of no family"
    """As messages call its models."""
    contracts: ClassVar[Contracts] = {}
    """The contract by the name of a task and an output level."""
    layouts: ClassVar[Mapping[str, Layout]] = {}
    """Other layouts of the outputs than the zoo's own, by their names."""
    rewriters: ClassVar[str | None] = None
    """The package that declares its function rewriters: imported when one of its models is exported."""
    plugins: ClassVar[tuple[str, ...]] = ()
    """The graph rewriters that put a plugin node in the place of its last steps, the default one first."""
    takes_thresholds: ClassVar[bool] = False
    """Whether the graph rewriter threshold_inputs finds its thresholds, so that they may be inputs of the graph."""
    float32_parts: ClassVar[tuple[str, ...]] = ()
    """Modules whose outputs stay float32 while it learns in lower precision: what boxes are computed from."""
    spread: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """Layers that decide, by the beginning of their name; zoo.random_weights gives them this mean and deviation.

    In the order in which they depend on one another.
    """

    def libraries(self) -> Mapping[str, str]:
        """The libraries that its models are made of, by name, and their versions: a manifest records them.

        Torch and torchvision, which every model has, are recorded without this.
        """
        return {}

    def contract_type(self, task: Task, level: str) -> type[Contract] | None:
        """The contract of its models for a task and an output level; None where it has none."""
        return self.contracts.get((task.name, level))

    def decider(self, model: nn.Module) -> nn.Module:
        """The module that holds `score_thresh`, `nms_thresh` and `detections_per_img`, as torchvision names them."""
        return model

    def decision_rule(self, model: nn.Module) -> DecisionRule:
        """The thresholds at which a detector decides, None for those that it does not have."""
        decider = self.decider(model)
        score, nms_iou, slots = (
            getattr(decider, name, None) for name in ("score_thresh", "nms_thresh", "detections_per_img")
        )
        return DecisionRule(
            score=None if score is None else float(score),
            nms_iou=None if nms_iou is None else float(nms_iou),
            slots=None if slots is None else int(slots),
        )

    def other_choices(
        self,
        model: nn.Module,  # noqa: ARG002 - a family whose models choose uses them
        run: Callable[[], Result],  # noqa: ARG002
        tolerance: float,  # noqa: ARG002
    ) -> Iterator[tuple[int, str, Callable[[], Result]]]:
        """What `run` of the model gives where it chooses otherwise between candidates that a rounding ties.

        For each other choice: the image of the batch that it is for, the reason, and what runs the model that way and
        gives its result. `tolerance`: how far scores may be off by rounding, as a part of their range. A backend that
        gives one of these is right. A proof asks for them where it has found a difference.
        """
        yield from ()

    @contextmanager
    def at_thresholds(self, model: nn.Module, score: float, iou: float) -> Iterator[None]:
        """The model decides by these while the context lasts; as its authors would set them."""
        decider: Any = self.decider(model)
        before = decider.score_thresh, decider.nms_thresh
        decider.score_thresh, decider.nms_thresh = score, iou
        try:
            yield
        finally:
            decider.score_thresh, decider.nms_thresh = before

    def size_divisor(self, model: nn.Module) -> int:
        """What divides every height and width that the model takes: its own `size_divisor`, else 1."""
        return int(getattr(model, "size_divisor", 1))

    def own_normalization(self, model: nn.Module) -> tuple[Tensor, Tensor] | None:
        """The mean and standard deviation by which the model normalises images itself, in units of 0..1.

        None where it leaves them as they are. Here what modules call `image_mean` and `image_std`, as torchvision's do.
        """
        for part in model.modules():
            if hasattr(part, "image_mean") and hasattr(part, "image_std"):
                mean, std = (torch.as_tensor(value).cpu() for value in (part.image_mean, part.image_std))
                if mean.any() or (std != 1).any():
                    return mean, std
        return None

    def check_sides(self, model: nn.Module, sides: Mapping[str, AxisRange]) -> None:
        """Raises InputError for heights and widths, or other sides, that the model does not take.

        Beyond those that its `size_divisor` excludes.
        """

    def one_size_exporters(self, model: nn.Module) -> tuple[str, ...]:  # noqa: ARG002 - families use it
        """The exporters whose graph of the model keeps the size of the traced image: images must have one size."""
        return ()

    def plugin(self, model: nn.Module, task: Task, name: str) -> PluginNode:
        """The node that the graph rewriter `name`, one of `plugins`, writes for the model."""
        raise NotImplementedError(f"{type(self).__name__} names plugins and does not describe {name}")

    def sliding(self, model: nn.Module) -> Sliding | None:  # noqa: ARG002 - a family of segmentors uses it
        """The slide inference of a segmentor; None where one pass over the image is all."""
        return None

    def pillars(
        self,
        model: nn.Module,  # noqa: ARG002 - a family of detectors in point clouds uses them
        target: Target,  # noqa: ARG002
        options: Mapping[str, Any],  # noqa: ARG002
        clouds: Sequence[Any],  # noqa: ARG002
    ) -> Pillars | None:
        """The pillars that the host makes of points at the target's level; None where it makes none there.

        `options`: the config's `export.level_options`. `clouds`: points float32 [n, 4] that will be compared. Raises
        InputError for other options.
        """
        return None

    def scales(self, model: nn.Module) -> Scales | None:  # noqa: ARG002 - a family of restorers uses it
        """How many times the model enlarges its images; None where it does not."""
        return None

    def constants(self, model: nn.Module, case: Case) -> Iterator[Constant]:  # noqa: ARG002 - families use them
        """The constants of the model that the graph of the case's level holds, compared with it by value."""
        yield from ()

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:  # noqa: ARG002 - as above
        """Count into `usage` what the unpatched model decides while the context lasts."""
        return nullcontext()

    def backbone(self, model: nn.Module) -> nn.Module | None:  # noqa: ARG002 - as above
        """The part of the model that a training may pre-train or load; None: where other models have it.

        Of images float32 [N, 3, H, W] it gives a feature map, or several of which the last counts; an object may hold
        them as `feature_maps`.
        """
        return None

    def backbone_state(self, model: nn.Module, state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:  # noqa: ARG002
        """The state dict of another model's ResNet, with the names that this model's backbone has for the tensors."""
        return state

    def losses(self, model: nn.Module, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """The losses of a training step. `batch`: images, and what its data has beside them.

        Here as mmseg's segmentors give them: of images float32 [N, 3, H, W] and label_maps int64 [N, H, W].
        """
        losses: Mapping[str, Tensor] = model(batch["images"], batch["label_maps"], mode="loss")
        return losses
