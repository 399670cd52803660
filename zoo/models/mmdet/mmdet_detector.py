"""A detector of mmdetection, called as torchvision's are."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.contract.module_outputs import module_outputs
from zoo.contract.padding import batched
from zoo.models.mmdet.architecture import EXTRA, PREPROCESSOR, SCOPE, build_detector, check_masks, model_section
from zoo.models.mmdet.image_input import ImageInput
from zoo.optional_library import needs_library
from zoo.registry import MODELS
from zoo.tasks.instance_segmentation.result import MASK_SIDE

BYTES = 255
PREFIX = "model."
MAX_DETECTIONS = 300  # detections of an image where the config keeps all that it finds, as YOLOX's does


@MODELS.register_module()
@needs_library(SCOPE, EXTRA)
class MmdetDetector(nn.Module):
    """images float32 [N, 3, H, W], RGB, 0..1 -> N x {"boxes" [n, 4], "scores" [n], "labels" int64 [n]}.

    With RoI heads that have masks also "masks" [n, 1, m, m], probabilities in cells of the box.
    Boxes x1 y1 x2 y2 in pixels of the images, best first. `config`: the section `model` of an mmdetection config, or
    the path of the file that has it; the file is Python, and runs when it is read. The `data_preprocessor` is part of
    this model: channel order, mean and std, and the zeros past the end of an image in a padded batch.
    `detections_per_img`: how many an image has at most, where the config itself does not say so (`max_per_img`).

    `image_sizes` int64 [N, 2]: where the images of a padded batch end, (h, w).
    """

    gives_whole_masks = False
    """Whether it is for models with masks of the whole image."""
    mean: Tensor
    std: Tensor

    def __init__(self, config: str | Path | Mapping[str, Any], *, detections_per_img: int = MAX_DETECTIONS) -> None:
        super().__init__()
        section = model_section(config)
        self.input = ImageInput.of(section.get(PREPROCESSOR))
        self.model: Any = build_detector(section)
        check_masks(self.model, whole=self.gives_whole_masks)
        self.size_divisor = self.input.divisor
        self.register_buffer("mean", torch.tensor(self.input.mean).view(1, -1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(self.input.std).view(1, -1, 1, 1), persistent=False)
        self.decisions.setdefault("max_per_img", getattr(self.model, "num_queries", detections_per_img))

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> list[dict[str, Tensor]]:
        inputs = self.padded(self.normalised(images, image_sizes))
        with module_outputs(self.mask_heads) as seen:
            results = self.model.predict(inputs, self.samples(images, image_sizes), rescale=False)
        detections = [self.detections(result.pred_instances) for result in results]
        return self.with_masks(detections, list(seen.values())) if self.mask_heads else detections

    def normalised(self, images: Tensor, image_sizes: Tensor | None) -> Tensor:
        """What mmdetection's data_preprocessor makes of the images: padding is zero, whatever lies there."""
        ordered = images.flip(1) if self.input.is_bgr else images
        normalised = (ordered * BYTES - self.mean) / self.std
        return normalised if image_sizes is None else torch.where(inside(images, image_sizes), normalised, 0.0)

    def padded(self, inputs: Tensor) -> Tensor:
        """With zeros to the right and below, up to sides that are multiples of the `size_divisor`."""
        height, width = inputs.shape[-2:]
        return F.pad(inputs, (0, -width % self.size_divisor, 0, -height % self.size_divisor))

    def samples(self, images: Tensor, image_sizes: Tensor | None) -> list[Any]:
        """mmdetection's DetDataSample of each image."""
        height, width = images.shape[-2:]
        sizes = [[height, width]] * len(images) if image_sizes is None else image_sizes.tolist()
        batch = (height + -height % self.size_divisor, width + -width % self.size_divisor)
        return [data_sample((own[0], own[1]), batch) for own in sizes]

    def detections(self, instances: Any) -> dict[str, Tensor]:
        """mmdetection's InstanceData of an image as torchvision's dictionary."""
        most = self.detections_per_img
        return {
            "boxes": instances.bboxes[:most],
            "scores": instances.scores[:most],
            "labels": instances.labels[:most],
        }

    def with_masks(self, detections: list[dict[str, Tensor]], logits: list[Tensor]) -> list[dict[str, Tensor]]:
        """The detections of each image, with "masks" [n, 1, m, m]: probabilities in cells of the box, not yet pasted.

        `logits`: of each mask head [R, C, m, m], for the boxes of all images in their order; none where no image has
        boxes. mmdetection keeps the pasted masks alone.
        """
        counts = [len(one["scores"]) for one in detections]
        boxes = torch.cat([one["boxes"] for one in detections])
        masks = boxes.new_zeros(0, 1, MASK_SIDE, MASK_SIDE)
        if logits:
            labels = torch.cat([one["labels"] for one in detections])
            stages = [stage if stage.shape[1] == 1 else stage[range(len(labels)), labels][:, None] for stage in logits]
            masks = torch.stack([stage.sigmoid() for stage in stages]).mean(dim=0)
        return [{**one, "masks": own} for one, own in zip(detections, torch.split(masks, counts), strict=True)]

    def in_slots(self, rows: Tensor, owners: Tensor, count: int, slots: int) -> Tensor:
        """Rows [R, W] of `count` images, whose numbers `owners` [R] has -> [N, slots, W], in order, unused ones 0."""
        return batched([rows[owners == number] for number in range(count)], slots, rank=3)

    @property
    def mask_heads(self) -> dict[str, nn.Module]:
        """Of each stage of the RoI head, by its number; none where it has no masks."""
        head: Any = getattr(getattr(self.model, "roi_head", None), "mask_head", None)
        heads = list(head) if isinstance(head, nn.ModuleList) else [head]
        return {str(number): one for number, one in enumerate(heads) if one is not None}

    def translated_state(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state dict of mmdetection by this module's names; see zoo.checkpoint."""
        return {f"{PREFIX}{name}": tensor for name, tensor in state.items()}

    @property
    def decisions(self) -> Any:
        """The test_cfg by which the model decides at last: of its RoI head, or of its only head."""
        parts = (getattr(self.model, name, None) for name in ("roi_head", "bbox_head", "mask_head"))
        return next(part for part in parts if part is not None).test_cfg

    @property
    def detections_per_img(self) -> int:
        """How many detections an image has at most."""
        return int(self.decisions.max_per_img)


def data_sample(image_size: tuple[Any, Any], batch_size: tuple[Any, Any]) -> Any:
    """mmdetection's description of an image of image_size (h, w) in a batch of batch_size: nothing was resized."""
    structures: Any = import_module("mmdet.structures")
    meta = {
        "ori_shape": image_size,
        "img_shape": image_size,
        "pad_shape": batch_size,
        "batch_input_shape": batch_size,
        "scale_factor": (1.0, 1.0),
        "border": (0.0,) * 4,  # that CenterNet's own transform pads
    }
    return structures.DetDataSample(metainfo=meta)


def inside(images: Tensor, image_sizes: Tensor) -> Tensor:
    """bool [N, 1, H, W]: where each image of a padded batch is."""
    ends = image_sizes[:, :, None, None]
    rows = torch.arange(images.shape[2], device=images.device)[:, None] < ends[:, :1]
    columns = torch.arange(images.shape[3], device=images.device) < ends[:, 1:]
    return rows & columns
