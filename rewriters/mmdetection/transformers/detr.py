"""DETR's inputs of its encoder, for a batch of padded images.

Source: Carion et al., End-to-End Object Detection with Transformers, ECCV 2020.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mmdet.models.detectors import DETR
from torch import Tensor

from rewriters.mmdetection.transformers.level_inputs import joined, level_input
from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.patching.rewriter import rewrites


@rewrites(
    DETR,
    "pre_transformer",
    reason="compares the sizes of the images and marks the padding of each in a loop over the batch, which freezes the "
    "batch, and fails where the graph computes the sizes",
    written_for=WRITTEN_FOR,
)
def pre_transformer_of_batch(
    _original: Callable[..., Any], self: Any, img_feats: Sequence[Tensor], batch_data_samples: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last map as rows, with the codes of its places, and where it is padding."""
    (sample,) = batch_data_samples
    level = level_input(img_feats[-1], sample, self.positional_encoding)
    mask = joined([level.padding])
    encoder = {"feat": level.rows, "feat_mask": mask, "feat_pos": level.positions}
    return encoder, {"memory_mask": mask, "memory_pos": level.positions}
