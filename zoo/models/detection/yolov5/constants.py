"""Constants of YOLOv5."""

from collections.abc import Iterator

import numpy as np

from zoo.contract.constants.constant import Case, Constant, as_array, constant
from zoo.contract.constants.detection import decisions
from zoo.models.detection.yolov5.detect import STRIDES
from zoo.models.detection.yolov5.yolov5 import YOLOv5


def yolov5_constants(model: YOLOv5, case: Case) -> Iterator[Constant]:
    """Cells, strides, anchors and thresholds."""
    if case.level not in ("decoded", "final"):
        return
    height, width = case.shape[-2:]
    places = 0
    for stride, anchors in zip(STRIDES, as_array(model.anchors_in_pixels()), strict=True):
        rows, columns = height // stride, width // stride
        places += rows * columns * len(anchors)
        grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).astype(np.float32)
        yield constant(f"cells of stride {stride}", "", grid, "Add")
        yield constant(f"stride {stride}", "", float(stride), "Mul")
        yield constant(f"anchors of stride {stride}", "", anchors / 2, "Mul")
    if case.level == "final":
        limit = model.topk_candidates
        candidates = min(limit, places) if case.fixed else limit
        yield from decisions(model, [candidates, min(model.detections_per_img, candidates)])
