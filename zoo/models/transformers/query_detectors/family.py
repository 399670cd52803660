"""The family of the detectors of transformers."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from torch import Tensor, nn

from zoo.families import Contracts, Family, register
from zoo.models.transformers.query_detectors.levels import QueryDecoded, QueryFinal, QueryRaw
from zoo.models.transformers.query_detectors.selection import Result, other_selections
from zoo.models.transformers.query_detectors.transformers_detector import TransformersDetector
from zoo.models.transformers.resnet_names import backbone_in, resnet_state


@register(TransformersDetector)
class QueryDetectorFamily(Family):
    """Queries, each with a score for every class: no threshold and no NMS, but a number of detections."""

    name: ClassVar[str] = "TransformersDetector"
    contracts: ClassVar[Contracts] = {
        ("detection", "final"): QueryFinal,
        ("detection", "decoded"): QueryDecoded,
        ("detection", "raw"): QueryRaw,
    }
    rewriters: ClassVar[str | None] = "rewriters.transformers"

    def other_choices(
        self, model: Any, run: Callable[[], Result], tolerance: float
    ) -> Iterator[tuple[int, str, Callable[[], Result]]]:
        """Other selections of queries, where the encoder's scores tie."""
        return other_selections(model.model, run, tolerance)

    def backbone(self, model: nn.Module) -> nn.Module | None:
        """The one of transformers; YOLOS and its like have none."""
        return backbone_in(model)

    def backbone_state(self, model: nn.Module, state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:  # noqa: ARG002
        """By the names of transformers' ResNet."""
        return resnet_state(state)

    def losses(self, model: nn.Module, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """The architecture's own. Of images float32 [N, 3, H, W] and targets, N x torchvision's dictionary."""
        losses: Mapping[str, Tensor] = model(batch["images"], batch["targets"])
        return losses
