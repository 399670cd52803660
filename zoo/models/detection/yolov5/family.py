"""The family of YOLOv5."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar, cast

from torch import nn

from zoo.comparison.decision_rule import DecisionRule
from zoo.contract.constants import Case, Constant
from zoo.contract.coverage import Usage
from zoo.families import Contracts, DetectorFamily, Layout, PluginNode, register
from zoo.models.detection.yolov5.constants import yolov5_constants
from zoo.models.detection.yolov5.coverage import yolov5_coverage
from zoo.models.detection.yolov5.layout import UltralyticsLayout
from zoo.models.detection.yolov5.levels import YOLOv5Decoded, YOLOv5Final, YOLOv5Raw
from zoo.models.detection.yolov5.yolov5 import YOLOv5
from zoo.tasks import Task
from zoo.tensor_spec import TensorSpec

DECODE, NMS = "yolo_decode_plugin", "efficient_nms_plugin"
DECODE_OUTPUTS = ("DecodeNumDetection", "DecodeDetectionBoxes", "DecodeDetectionScores", "DecodeDetectionClasses")
"""What the decode plugin's node gives: the number of candidates, their boxes, scores and classes, before NMS."""


@register(YOLOv5)
class YOLOv5Family(DetectorFamily):
    """Three maps, decoded; an anchor is a candidate for its best class alone."""

    name: ClassVar[str] = "YOLOv5"
    contracts: ClassVar[Contracts] = {
        ("detection", "final"): YOLOv5Final,
        ("detection", "decoded"): YOLOv5Decoded,
        ("detection", "raw"): YOLOv5Raw,
        ("detection", "plugin"): YOLOv5Final,
    }
    layouts: ClassVar[Mapping[str, Layout]] = {"ultralytics": UltralyticsLayout()}
    rewriters: ClassVar[str | None] = "rewriters.yolov5"
    plugins: ClassVar[tuple[str, ...]] = (DECODE, NMS)
    takes_thresholds: ClassVar[bool] = True
    float32_parts: ClassVar[tuple[str, ...]] = ("model.24",)  # the head

    def decision_rule(self, model: nn.Module) -> DecisionRule:
        """With the number of candidates that meet in NMS."""
        detector = cast("YOLOv5", model)
        return replace(
            super().decision_rule(model),
            candidates=detector.topk_candidates,
            class_agnostic=detector.class_agnostic,
            candidate_outputs=DECODE_OUTPUTS,
        )

    def plugin(self, model: nn.Module, task: Task, name: str) -> PluginNode:
        """The decode plugin behind the maps, or NVIDIA's NMS behind the decoded boxes."""
        detector = cast("YOLOv5", model)
        if name == NMS:
            return PluginNode("decoded", _nms_options(detector), task.outputs("final"))
        shapes: tuple[tuple[int | str, ...], ...] = (("N", 1), ("N", "M", 4), ("N", "M"), ("N", "M"))
        dtypes = ("int32", "float32", "float32", "int32")
        outputs = tuple(TensorSpec(*spec) for spec in zip(DECODE_OUTPUTS, dtypes, shapes, strict=True))
        return PluginNode("raw", _decode_options(detector), outputs)

    def constants(self, model: nn.Module, case: Case) -> Iterator[Constant]:
        """Cells, strides, anchors and thresholds."""
        return yolov5_constants(cast("YOLOv5", model), case)

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """Levels and thresholds."""
        return yolov5_coverage(cast("YOLOv5", model), usage)

    def backbone(self, model: nn.Module) -> nn.Module:
        """The first ten layers."""
        return cast("YOLOv5", model).backbone


def _decode_options(model: YOLOv5) -> dict[str, Any]:
    """No detection has an objectness below its score, so the score's threshold loses none."""
    return {
        "anchors": model.anchors_in_pixels().flatten().tolist(),
        "num_classes": model.head.num_classes,
        "max_stride": model.size_divisor,
        "prenms_score_threshold": model.score_thresh,
    }


def _nms_options(model: YOLOv5) -> dict[str, Any]:
    return {
        "score_threshold": model.score_thresh,
        "iou_threshold": model.nms_thresh,
        "max_output_boxes": model.detections_per_img,
        "class_agnostic": model.class_agnostic,
        "best_class_only": True,
    }
