"""What an export of a small detector is compared with, and the task and axes of it."""

from typing import Any

from torch import Tensor

from tests.small_mmdet import CLASSES, SIDES, own_results
from zoo.target import AxisRange
from zoo.tasks import build_task

CLASS_LIST = [{"name": str(index), "category_id": index} for index in range(CLASSES)]
TASK = build_task({"type": "Detection", "classes": CLASS_LIST})
AXES = {
    "batch": AxisRange(1, 2, 4),
    "height": AxisRange.fixed(SIDES[0]),
    "width": AxisRange.fixed(SIDES[1]),
}


def expected_outputs(contract: Any, images: Tensor) -> dict[str, Any]:
    """mmdetection's own results as the tensors of level final."""
    instances = own_results(contract.model, images)
    most = contract.num_slots
    dictionaries = [
        {"boxes": one.bboxes[:most], "scores": one.scores[:most], "labels": one.labels[:most]} for one in instances
    ]
    names = [spec.name for spec in contract.outputs(TASK, "final")]
    return dict(zip(names, [tensor.numpy() for tensor in contract.tensors(dictionaries)], strict=True))
