"""The contract of a model, a task and a level."""

from collections.abc import Mapping
from typing import Any

from torch import nn
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from zoo.contract.contract import Contract
from zoo.contract.dense import DENSE_DETECTORS, DenseDecoded, DenseRaw
from zoo.contract.detection import DetectionFinal
from zoo.contract.instance_segmentation import ImageMasksFinal, InstanceSegmentationFinal
from zoo.contract.keypoint_detection import KeypointDetectionFinal
from zoo.contract.segmentation import SegmentationDecoded, SegmentationFinal, SegmentationRaw
from zoo.contract.super_resolution import AnyScaleFinal, SuperResolutionFinal
from zoo.contract.two_stage import TwoStageDecoded, TwoStageRaw
from zoo.contract.yolov5 import UltralyticsDecoded, YOLOv5Decoded, YOLOv5Final, YOLOv5Raw
from zoo.errors import InputError
from zoo.models.detection.yolov5 import YOLOv5
from zoo.models.restoration import AnyScaleSRCNN
from zoo.tasks import Task
from zoo.tasks.detection import Detection
from zoo.tasks.instance_segmentation import InstanceSegmentation

CONTRACTS: dict[tuple[str, str], type[Contract]] = {
    ("detection", "final"): DetectionFinal,
    ("detection", "decoded"): TwoStageDecoded,
    ("detection", "raw"): TwoStageRaw,
    ("instance-segmentation", "final"): InstanceSegmentationFinal,
    ("instance-segmentation", "decoded"): TwoStageDecoded,
    ("instance-segmentation", "raw"): TwoStageRaw,
    ("keypoint-detection", "final"): KeypointDetectionFinal,
    ("keypoint-detection", "decoded"): TwoStageDecoded,
    ("keypoint-detection", "raw"): TwoStageRaw,
    ("semantic-segmentation", "final"): SegmentationFinal,
    ("semantic-segmentation", "decoded"): SegmentationDecoded,
    ("semantic-segmentation", "raw"): SegmentationRaw,
    ("super-resolution", "final"): SuperResolutionFinal,
}

DENSE_CONTRACTS: dict[str, type[Contract]] = {"final": DetectionFinal, "decoded": DenseDecoded, "raw": DenseRaw}
YOLOV5_CONTRACTS: dict[str, type[Contract]] = {
    "final": YOLOv5Final,
    "decoded": YOLOv5Decoded,
    "raw": YOLOv5Raw,
    "plugin": YOLOv5Final,
}


def contract_module(
    model: nn.Module, task: Task, level: str, forward: Mapping[str, Any], layout: str = "zooport"
) -> Contract:
    """The model with the outputs of `level`, in eval mode. `forward`: keyword arguments of the model's forward.

    At level "plugin" these are the final ones: what the plugin's candidates must come to. Raises InputError where the
    model's family has no such contract, or none in this layout.
    """
    if not isinstance(model, YOLOv5) and (level == "plugin" or layout != "zooport"):
        asked = "level plugin" if level == "plugin" else f"layout {layout}"
        raise InputError(f"{asked}: {type(model).__name__} has none; YOLOv5 has")
    if layout == "ultralytics":
        return UltralyticsDecoded(model, forward)
    if task.name == "detection" and isinstance(model, DENSE_DETECTORS):
        return DENSE_CONTRACTS[level](model, forward)
    if task.name == "detection" and isinstance(model, YOLOv5):
        return YOLOV5_CONTRACTS[level](model, forward)
    if isinstance(task, Detection) and not isinstance(model, GeneralizedRCNN):
        names = [kind.__name__ for kind in (*DENSE_DETECTORS, YOLOv5)]
        others = f" or {', '.join(names)}" if task.name == "detection" else ""
        raise InputError(f"model {type(model).__name__}: expected a torchvision R-CNN{others} for task {task.name}")
    if isinstance(task, InstanceSegmentation) and task.image_masks and level == "final":
        return ImageMasksFinal(model, forward)
    if isinstance(model, AnyScaleSRCNN) and level == "final":
        return AnyScaleFinal(model, forward)
    if (task.name, level) not in CONTRACTS:
        raise InputError(f"level {level}: {task.name} has none; use level final")
    return CONTRACTS[task.name, level](model, forward)
