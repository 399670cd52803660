"""MmdetInstanceSegmentor in an export: the whole batch at once."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from rewriters.patching.rewriter import rewrites
from zoo.models.mmdet import MmdetInstanceSegmentor


@rewrites(
    MmdetInstanceSegmentor,
    "instances",
    reason="finds the instances of each image, in a loop over the batch, which freezes the batch size",
    written_for="zooport 0.1",
)
def instances_of_batch(
    _original: Callable[..., Any], self: MmdetInstanceSegmentor, inputs: Tensor, samples: list[Any], _images: Tensor
) -> dict[str, Tensor]:
    """What the head's rewriter makes of the batch."""
    (result,) = self.model.predict(inputs, samples, rescale=False)
    found = result.pred_instances
    return {"scores": found.scores, "labels": found.labels, "mask_logits": found.masks}
