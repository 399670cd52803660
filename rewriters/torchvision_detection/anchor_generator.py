"""AnchorGenerator.forward: anchors are constants of the graph."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.image_list import ImageList

from rewriters.patching.constants import static_size, untraced
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from rewriters.torchvision_detection.whole_batch import is_whole_batch


@rewrites(
    AnchorGenerator,
    "forward",
    reason="is traced into nodes that compute what is fixed by the size of the input; dynamo folds them by itself",
    exporter="torchscript",
    written_for=WRITTEN_FOR,
)
def forward_constant(
    original: Callable[..., Any], self: AnchorGenerator, image_list: ImageList, feature_maps: list[Tensor]
) -> Any:
    """-> [anchors float32 [A, 4]], x1 y1 x2 y2 in pixels of the padded image; the same for every image.

    Where the graph computes the image size, torchvision's own arithmetic is traced.
    """
    if not is_whole_batch(image_list.image_sizes) or isinstance(image_list.image_sizes[0], Tensor):
        return NotImplemented
    tensor_size = static_size(image_list.tensors)
    feature_sizes = [static_size(feature) for feature in feature_maps]
    anchors: list[Tensor] = untraced(
        lambda: original(
            self,
            ImageList(torch.zeros(1, 1, *tensor_size), [tensor_size]),
            [torch.zeros(1, 1, *size) for size in feature_sizes],
        )
    )
    return anchors
