"""torchvision's NMS: a trace that meets no boxes is an error.

torchscript records the path that the example takes. Detectors return early where nothing is left to suppress, or
nothing is left of it, so an example without candidates gives a graph that finds nothing in any image. Where an
output became a constant by that, the export's reachability check says so; where the early return still slices an
input, only this guard does.
"""

from collections.abc import Callable
from typing import Any

import torchvision.ops.boxes
from torch import Tensor

from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from zoo.errors import ExportError

REASON = "an example without boxes records the early return of the code around NMS, which never finds anything"


def check_boxes(function: str, boxes: Tensor) -> None:
    """Raises ExportError where there are no boxes to suppress."""
    if boxes.shape[0] == 0:
        raise ExportError(
            f"{function} got no boxes while the model was traced, so the graph would hold the early return "
            "for no boxes and find nothing in any image; export with a real image that has objects, with trained "
            "weights, or with a lower score threshold"
        )


@rewrites(torchvision.ops.boxes, "nms", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript")
def nms_guarded(original: Callable[..., Tensor], boxes: Tensor, *args: Any, **options: Any) -> Tensor:
    """As torchvision.ops.nms."""
    check_boxes("torchvision.ops.nms", boxes)
    return original(boxes, *args, **options)


@rewrites(torchvision.ops.boxes, "batched_nms", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript")
def batched_nms_guarded(original: Callable[..., Tensor], boxes: Tensor, *args: Any, **options: Any) -> Tensor:
    """As torchvision.ops.batched_nms."""
    check_boxes("torchvision.ops.batched_nms", boxes)
    return original(boxes, *args, **options)
