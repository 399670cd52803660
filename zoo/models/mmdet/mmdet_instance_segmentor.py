"""A model of mmdetection that gives masks of the whole image, called as zooport's own are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.models.mmdet.mmdet_detector import MAX_DETECTIONS, MmdetDetector
from zoo.models.mmdet.seen_masks import SeenMasks
from zoo.registry import MODELS

EMPTY_LABEL = -1


@MODELS.register_module()
class MmdetInstanceSegmentor(MmdetDetector):
    """images float32 [N, 3, H, W], RGB, 0..1 -> instances, for the task InstanceMasks.

    Of MaskFormer and Mask2Former the queries, {"class_logits" [N, Q, C + 1], "mask_logits" [N, Q, H, W]}; of SOLO and
    SOLOv2 the instances, {"scores" [N, K], "labels" [N, K], "mask_logits" [N, K, H, W], above 0 inside}. Everything
    else is as of an MmdetDetector.
    """

    gives_whole_masks = True

    def __init__(self, config: str | Path | Mapping[str, Any], *, detections_per_img: int = MAX_DETECTIONS) -> None:
        super().__init__(config, detections_per_img=detections_per_img)
        self.has_queries = self.queries_head is not None

    def forward(self, images: Tensor) -> dict[str, Tensor]:  # type: ignore[override]  # of another task
        inputs = self.padded(self.normalised(images, None))
        samples = self.samples(images, None)
        return self.queries(inputs, samples, images) if self.has_queries else self.instances(inputs, samples, images)

    def queries(self, inputs: Tensor, samples: list[Any], images: Tensor) -> dict[str, Tensor]:
        """The queries, with masks as large as the images."""
        classes, masks = self.queries_head.predict(self.model.extract_feat(inputs), samples)
        height, width = images.shape[-2:]
        return {"class_logits": classes, "mask_logits": masks[..., :height, :width]}

    def instances(self, inputs: Tensor, samples: list[Any], images: Tensor) -> dict[str, Tensor]:
        """What mmdetection finds in each image, in slots of a fixed number."""
        threshold = float(self.decisions.mask_thr)
        slots = []
        for image, sample in zip(torch.split(inputs, 1), samples, strict=True):
            with SeenMasks(threshold) as seen:
                (result,) = self.model.predict(image, [sample], rescale=False)
            found = result.pred_instances
            empty = images.new_zeros(0, *images.shape[-2:])
            masks = seen.last - threshold if len(found.scores) else empty
            slots.append((found.scores, found.labels.long(), masks))
        names, fillings = ("scores", "labels", "mask_logits"), (0, EMPTY_LABEL, -threshold)
        columns = zip(names, zip(*slots, strict=True), fillings, strict=True)
        return {name: torch.stack([self._filled(one, filling) for one in each]) for name, each, filling in columns}

    def _filled(self, values: Tensor, filling: float) -> Tensor:
        """[n, ...] -> [K, ...]."""
        values = values[: self.detections_per_img]
        missing = self.detections_per_img - len(values)
        return F.pad(values, (0, 0) * (values.dim() - 1) + (0, missing), value=filling)

    @property
    def queries_head(self) -> Any:
        """The head whose queries have masks; None for a model without one."""
        return getattr(self.model, "panoptic_head", None)

    @property
    def decisions(self) -> Any:
        """The test_cfg by which the model decides at last."""
        head = getattr(self.model, "panoptic_fusion_head", None) or self.model.mask_head
        return head.test_cfg

    @property
    def detections_per_img(self) -> int:
        """How many instances an image has at most: mmdetection has two names for it."""
        return int(self.decisions.get("max_per_image", self.decisions.max_per_img))
