"""The batch as the only entry of mmdetection's lists of images."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch.nn.functional as F
from mmdet.models.detectors import BaseDetector, MaskFormer
from torch import Tensor

from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.patching.constants import as_ints, static_size
from rewriters.patching.rewriter import rewrites
from rewriters.patching.rewriting import active_target
from zoo.contract.coordinates import size_tensor
from zoo.models.mmdet import MmdetDetector


class WholeBatch(SimpleNamespace):
    """What mmdetection's methods ask of a DetDataSample: its metainfo, by key and as attributes."""

    @property
    def metainfo(self) -> dict[str, Any]:
        """By key."""
        return vars(self)

    def get(self, name: str, default: Any = None) -> Any:
        """As of a dictionary."""
        return vars(self).get(name, default)


@rewrites(
    MmdetDetector,
    "samples",
    reason="describes each image, in a loop over the batch, which freezes the batch size",
    written_for="zooport 0.1",
)
def one_sample(
    _original: Callable[..., Any], _self: MmdetDetector, images: Tensor, image_sizes: Tensor | None
) -> list[WholeBatch]:
    """One for the whole batch. Its images end at (h, w), or at int64 [1 or N, 2] where the graph computes that.

    `image_sizes`: where they end before their batch does; None where they fill it.
    """
    fixed = active_target().fixed_sides
    size = static_size(images) if fixed else tuple(images.shape[-2:])
    ends: Any = image_sizes
    if image_sizes is None:
        ends = size if fixed else size_tensor(*size)
    sizes = {"ori_shape": ends, "img_shape": ends, "pad_shape": size, "batch_input_shape": size}
    return [WholeBatch(**sizes, scale_factor=(1.0, 1.0), image_sizes=image_sizes)]


@rewrites(
    MmdetDetector,
    "padded",
    reason="asks how far a side is from a multiple, which a tracer freezes; those of a graph are multiples",
    written_for="zooport 0.1",
)
def already_padded(_original: Callable[..., Any], _self: MmdetDetector, inputs: Tensor) -> Tensor:
    """The batch as it is."""
    return inputs


@rewrites(
    BaseDetector,
    "add_pred_to_datasample",
    reason="InstanceData takes tensors of one length alone, not a batch of padded ones",
    written_for=WRITTEN_FOR,
    leaves=(MaskFormer,),  # whose queries are the results
)
def one_result(
    _original: Callable[..., Any], _self: BaseDetector, data_samples: Sequence[Any], results_list: Sequence[Any]
) -> list[SimpleNamespace]:
    """The padded results of the whole batch."""
    return [SimpleNamespace(pred_instances=instances) for _, instances in zip(data_samples, results_list, strict=True)]


@rewrites(
    MmdetDetector,
    "detections",
    reason="cuts the results of an image to their largest number: those of a padded batch have it",
    written_for="zooport 0.1",
)
def padded_detections(_original: Callable[..., Any], _self: MmdetDetector, instances: Any) -> dict[str, Tensor]:
    """{"boxes" [N, K, 4], "scores" [N, K], "labels" [N, K]}, and "masks" [N, K, 1, m, m] if there are any."""
    padded = {"boxes": instances.bboxes, "scores": instances.scores, "labels": instances.labels}
    return {**padded, "masks": instances.masks} if hasattr(instances, "masks") else padded


@rewrites(
    MmdetDetector,
    "with_masks",
    reason="splits the masks of the images, which freezes the batch size; those of a padded batch are there",
    written_for="zooport 0.1",
)
def with_padded_masks(
    _original: Callable[..., Any], _self: MmdetDetector, detections: list[dict[str, Tensor]], _logits: list[Tensor]
) -> list[dict[str, Tensor]]:
    """The detections as they are."""
    return detections


@rewrites(
    MmdetDetector,
    "in_slots",
    reason="chooses the rows of each image, in a loop over the batch; of a padded batch each has all its slots",
    written_for="zooport 0.1",
)
def already_in_slots(
    _original: Callable[..., Any], _self: MmdetDetector, rows: Tensor, _owners: Tensor, count: int, slots: int
) -> Tensor:
    """Rows [N * P, W] -> [N, slots, W]: small images of a fixed size have no more than P candidates."""
    batch = rows.reshape(count, -1, *as_ints(rows.shape[1:]))
    return F.pad(batch, (0, 0, 0, slots - as_ints(batch.shape[1:2])[0]))
