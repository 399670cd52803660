"""TransformersDetector in an export: the whole batch as one entry."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from rewriters.patching.rewriter import rewrites
from zoo.models.transformers.query_detectors import TransformersDetector
from zoo.models.transformers.query_detectors.detection_rules import Detections


@rewrites(
    TransformersDetector,
    "by_image",
    reason="a dictionary for each image, in a loop over the batch: torchscript freezes the batch size, and dynamo "
    "refuses the loop",
    written_for="zooport",
)
def whole_batch(
    _original: Callable[..., Any], _self: TransformersDetector, detections: Detections
) -> list[dict[str, Tensor]]:
    """Boxes [N, K, 4], scores [N, K], labels [N, K]: every slot is used."""
    return [detections._asdict()]
