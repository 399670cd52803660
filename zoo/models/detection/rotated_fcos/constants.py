"""Constants of RotatedFCOS."""

from collections.abc import Iterator

import numpy as np

from zoo.contract.constants.constant import Case, Constant, constant
from zoo.contract.constants.detection import kept
from zoo.models.detection.rotated_fcos.rotated_fcos import RotatedFCOS


def rotated_fcos_constants(model: RotatedFCOS, case: Case) -> Iterator[Constant]:
    """Places, strides and thresholds."""
    if case.level not in ("decoded", "final"):
        return
    counts = []
    seen = case.outputs({"features": model.backbone})
    for stride, feature in zip(model.strides, seen["features"].values(), strict=True):
        rows, columns = feature.shape[-2:]
        counts.append(rows * columns)
        y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        grid = (np.stack((x, y), axis=-1).reshape(-1, 2) + np.float32(0.5)).astype(np.float32)
        yield constant(f"places of stride {stride}", "", grid * stride, "Add", "Concat", "Mul")
        yield constant(f"stride {stride}", "", float(stride), "Mul")
    if case.level == "final":
        limit, classes = model.topk_candidates, model.head.num_classes
        pairs = [min(limit, count * classes) if case.fixed else limit for count in counts]
        slots = min(model.detections_per_img, sum(pairs))
        yield from kept("candidates of a level, and detections of an image", "", [*pairs, slots])
        yield constant("score threshold", "", model.score_thresh, "Greater")
        yield constant("NMS threshold", "", model.nms_thresh, "Mul")
