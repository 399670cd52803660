"""The operator in eager PyTorch, by torchvision's heatmaps_to_keypoints."""

import torch
from torch import Tensor
from torchvision.models.detection.roi_heads import heatmaps_to_keypoints

from rewriters.engine.constants import untraced


@torch.library.custom_op("zooport::heatmap_keypoints", mutates_args=())
def heatmap_keypoints(maps: Tensor, boxes: Tensor) -> Tensor:
    """maps float32 [R, P, S, S], boxes float32 [R, 4] x1 y1 x2 y2 in pixels -> [R, P, 3]: x, y, and the map's value.

    A map is resized to the whole pixels of its box, bicubically; its largest pixel is the keypoint.
    Source: torchvision.models.detection.roi_heads.heatmaps_to_keypoints.
    """
    points, scores = untraced(lambda: heatmaps_to_keypoints(maps, boxes))  # it takes another way where a tracer looks
    return torch.cat([points[..., :2], scores[..., None]], dim=-1)


@heatmap_keypoints.register_fake
def _(maps: Tensor, boxes: Tensor) -> Tensor:
    return maps.new_empty((maps.shape[0], maps.shape[1], 3))
