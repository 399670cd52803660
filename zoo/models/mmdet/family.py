"""The family of mmdetection's detectors."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from torch import Tensor, nn

from zoo.codebases.mmcv_ext import stand_in
from zoo.comparison.decision_rule import DecisionRule
from zoo.families import Contracts, Family, register
from zoo.installed_versions import installed_versions
from zoo.models.mmdet.final import MmdetFinal, MmdetInstances
from zoo.models.mmdet.levels import MmdetDecoded, MmdetRaw
from zoo.models.mmdet.mmdet_detector import BYTES, MmdetDetector
from zoo.models.mmdet.mmdet_instance_segmentor import MmdetInstanceSegmentor
from zoo.models.mmdet.other_mask_thresholds import Result, other_mask_thresholds
from zoo.tasks.instance_masks.proof import InstanceMasksProof

LIBRARIES = ("mmdet", "onedl-mmdetection", "mmcv", "mmcv-lite", "onedl-mmcv", "mmengine", "onedl-mmengine")
"""Each comes under several names."""


@register("mmdet")
class MmdetParts(Family):
    """Parts of mmdetection, of which a model of another library may be made: they bring their rewriters."""

    name: ClassVar[str] = "a part of mmdetection"
    rewriters: ClassVar[str | None] = "rewriters.mmdetection"

    def one_size_exporters(self, model: nn.Module) -> tuple[str, ...]:
        """Dynamo freezes how many windows a Swin Transformer has, and with them the size."""
        return ("dynamo",) if type(model).__name__ == "SwinTransformer" else ()


@register(MmdetDetector)
class MmdetFamily(Family):
    """They decide by the test_cfg of their last head."""

    name: ClassVar[str] = "a detector of mmdetection"
    contracts: ClassVar[Contracts] = {
        ("detection", "final"): MmdetFinal,
        ("detection", "decoded"): MmdetDecoded,
        ("detection", "raw"): MmdetRaw,
        ("instance-segmentation", "final"): MmdetInstances,
        ("instance-segmentation", "decoded"): MmdetDecoded,
        ("instance-segmentation", "raw"): MmdetRaw,
    }
    rewriters: ClassVar[str | None] = "rewriters.mmdetection"

    def libraries(self) -> Mapping[str, str]:
        """mmdetection and what it stands on; the stand-in for mmcv's compiled operators, where it is in use."""
        return {**installed_versions(LIBRARIES), **stand_in.versions()}

    def decision_rule(self, model: Any) -> DecisionRule:
        """By mmdetection's own names: score_thr, nms.iou_threshold, max_per_img.

        Dense heads multiply scores by what they know of a box's quality behind the threshold.
        """
        decisions = model.decisions
        nms = decisions.get("nms") or {}
        score, iou = decisions.get("score_thr"), nms.get("iou_threshold")
        return DecisionRule(
            score=None if score is None else float(score),
            nms_iou=None if iou is None else float(iou),
            slots=model.detections_per_img,
            class_agnostic=bool(nms.get("class_agnostic", False)),
            weighted=score is not None and hasattr(model.model, "bbox_head"),
        )

    @contextmanager
    def at_thresholds(self, model: Any, score: float, iou: float) -> Iterator[None]:
        """As its authors would set them: in test_cfg."""
        decisions = model.decisions
        before = decisions.score_thr, decisions.nms.iou_threshold
        decisions.score_thr, decisions.nms.iou_threshold = score, iou
        try:
            yield
        finally:
            decisions.score_thr, decisions.nms.iou_threshold = before

    def own_normalization(self, model: Any) -> tuple[Tensor, Tensor] | None:
        """That of its data_preprocessor."""
        mean, std = model.mean.flatten().cpu() / BYTES, model.std.flatten().cpu() / BYTES
        return (mean, std) if mean.any() or (std * BYTES != 1).any() else None


@register(MmdetInstanceSegmentor)
class MmdetInstanceFamily(MmdetFamily):
    """Masks of the whole image: the queries of MaskFormer's kind, or the instances of SOLO's."""

    name: ClassVar[str] = "an instance segmentor of mmdetection"
    contracts: ClassVar[Contracts] = {
        ("instance-masks", level): contract for level, contract in InstanceMasksProof.contracts.items()
    }

    def decision_rule(self, model: Any) -> DecisionRule:
        """SOLO drops instances below `filter_thr`; of queries every one counts."""
        threshold = None if model.has_queries else float(model.decisions.filter_thr)
        return DecisionRule(score=threshold, slots=model.detections_per_img)

    def other_choices(
        self, model: Any, run: Callable[[], Result], tolerance: float
    ) -> Iterator[tuple[int, str, Callable[[], Result]]]:
        """Of SOLO's pixels near the threshold of masks."""
        return iter(()) if model.has_queries else other_mask_thresholds(model, run, tolerance)
