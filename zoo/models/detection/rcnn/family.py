"""The family of torchvision's R-CNNs."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from torch import nn
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from zoo.contract.constants import Case, Constant
from zoo.contract.coverage import Usage
from zoo.families import Contracts, DetectorFamily, register
from zoo.models.detection.rcnn.constants import rcnn_constants
from zoo.models.detection.rcnn.coverage import rcnn_coverage
from zoo.models.detection.rcnn.final import RCNNFinal, RCNNImageMasks, RCNNInstances, RCNNKeypoints
from zoo.models.detection.rcnn.levels import TwoStageDecoded, TwoStageRaw
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tasks.instance_segmentation import InstanceSegmentation

FINAL: Mapping[str, type[Contract]] = {
    "detection": RCNNFinal,
    "instance-segmentation": RCNNInstances,
    "keypoint-detection": RCNNKeypoints,
}


@register(GeneralizedRCNN)
class RCNNFamily(DetectorFamily):
    """Faster, Mask and Keypoint R-CNN, each for its task and those that ask for less."""

    name: ClassVar[str] = "a torchvision R-CNN"
    contracts: ClassVar[Contracts] = {
        (task, level): contract
        for task, final in FINAL.items()
        for level, contract in (("final", final), ("decoded", TwoStageDecoded), ("raw", TwoStageRaw))
    }
    float32_parts: ClassVar[tuple[str, ...]] = (
        *("backbone", "rpn.head"),
        *(f"roi_heads.{name}_predictor" for name in ("box", "mask", "keypoint")),
    )
    spread: ClassVar[Mapping[str, tuple[float, float]]] = {
        "rpn.head.cls_logits": (0.0, 2.0),
        "rpn.head.bbox_pred": (0.0, 0.3),
        "roi_heads.box_predictor.cls_score": (0.0, 2.0),
        "roi_heads.box_predictor.bbox_pred": (0.0, 1.0),
        "roi_heads.mask_predictor.mask_fcn_logits": (0.0, 2.0),
        "roi_heads.keypoint_predictor.kps_score_lowres": (0.0, 3.0),
    }

    def contract_type(self, task: Task, level: str) -> type[Contract] | None:
        """Masks of the image's size where the task asks for them."""
        if isinstance(task, InstanceSegmentation) and task.image_masks and level == "final":
            return RCNNImageMasks
        return super().contract_type(task, level)

    def decider(self, model: Any) -> nn.Module:
        """The RoI heads."""
        heads: nn.Module = model.roi_heads
        return heads

    def constants(self, model: nn.Module, case: Case) -> Iterator[Constant]:
        """Anchors, box coders, thresholds, poolers."""
        return rcnn_constants(model, case)

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """Proposals, detections, levels of the poolers."""
        return rcnn_coverage(model, usage)
