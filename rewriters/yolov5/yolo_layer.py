"""YoloLayer_TRT: YOLOv5's decode behind the sigmoid, as a plugin of TensorRT.

Source of what it computes: NVIDIA-AI-IOT/yolov5_gpu_optimization, whose plugin runs such a node on a GPU. There the
order of the detections is not defined; here they come by level, anchor, row and column.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx.reference.op_run import OpRun

from rewriters.plugins.domain import PLUGIN_DOMAIN
from rewriters.plugins.operators import plugin_operator

ANCHORS_OF_A_LEVEL = 3
BOX_AND_OBJECT = 5  # x, y, width, height, objectness


def yolo_layer(
    maps: Sequence[NDArray[np.float32]],
    *,
    max_stride: int,
    num_classes: int,
    anchors: Sequence[float],
    prenms_score_threshold: float,
) -> tuple[NDArray[Any], ...]:
    """Sigmoid maps float32 [N, 3 * (5 + C), h, w], the finest first -> the candidates of each image, before NMS.

    num int32 [N, 1]; boxes float32 [N, M, 4], x1 y1 x2 y2 in pixels of the network's input; scores float32 [N, M],
    objectness times the best class; classes int32 [N, M]. M counts all anchors; slots past `num` hold zeros. Those
    whose objectness is below the threshold are left out. `anchors`: (w, h) in pixels, flat, by level.
    """
    height, width = (side * max_stride for side in maps[-1].shape[2:])
    pairs = np.asarray(anchors, np.float32).reshape(len(maps), ANCHORS_OF_A_LEVEL, 2)
    rows = [
        _rows(level, own_anchors, (height, width), num_classes) for level, own_anchors in zip(maps, pairs, strict=True)
    ]
    all_rows = np.concatenate(rows, axis=1)
    count, slots = all_rows.shape[:2]
    num = np.zeros((count, 1), np.int32)
    boxes, scores = np.zeros((count, slots, 4), np.float32), np.zeros((count, slots), np.float32)
    classes = np.zeros((count, slots), np.int32)
    for image, image_rows in enumerate(all_rows):
        kept = image_rows[image_rows[:, 4] >= np.float32(prenms_score_threshold)]
        num[image] = len(kept)
        boxes[image, : len(kept)] = kept[:, :4]
        best = kept[:, BOX_AND_OBJECT:]
        scores[image, : len(kept)] = kept[:, 4] * best.max(axis=1, initial=0)
        classes[image, : len(kept)] = best.argmax(axis=1)
    return num, boxes, scores, classes


def _rows(
    level: NDArray[np.float32], anchors: NDArray[np.float32], size: tuple[int, int], num_classes: int
) -> NDArray[np.float32]:
    """[N, 3 * h * w, 5 + C] with the box in place of x, y, w, h."""
    count, _, rows, columns = level.shape
    cells = level.reshape(count, ANCHORS_OF_A_LEVEL, BOX_AND_OBJECT + num_classes, rows, columns).transpose(
        0, 1, 3, 4, 2
    )
    grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).astype(np.float32)
    pixels = np.array([size[1] / columns, size[0] / rows], np.float32)
    center = (cells[..., :2] * 2 - np.float32(0.5) + grid) * pixels
    half = (cells[..., 2:4] * 2) ** 2 * (anchors[:, None, None] / 2)
    corners = np.concatenate((center - half, center + half, cells[..., 4:]), axis=-1)
    return corners.reshape(count, -1, BOX_AND_OBJECT + num_classes).astype(np.float32)


@plugin_operator
class YoloLayer_TRT(OpRun):  # noqa: N801 - onnx finds it by the node's type
    """The node, for onnx's ReferenceEvaluator."""

    op_domain = PLUGIN_DOMAIN

    def _run(self, *maps: NDArray[np.float32], **attributes: Any) -> tuple[NDArray[Any], ...]:
        names = ("max_stride", "num_classes", "anchors", "prenms_score_threshold")
        return yolo_layer(maps, **{name: attributes[name] for name in names})
