"""MultiScaleRoIAlign.forward: each box is pooled from its own level, the levels are joined by one gather."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchvision.ops.poolers import LevelMapper, MultiScaleRoIAlign

from rewriters.engine.constants import static_size
from rewriters.engine.rewriter import rewrites
from rewriters.ops.multi_level_roi_align import multi_level_roi_align
from rewriters.torchvision_detection.versions import WRITTEN_FOR


@rewrites(
    MultiScaleRoIAlign,
    "forward",
    reason="joins the levels by scattering into a tensor of all pooled boxes, which is slow in ONNX Runtime; the "
    "number of boxes in a level is data-dependent, which dynamo refuses",
    written_for=WRITTEN_FOR,
)
def forward_one_operator(
    original: Callable[..., Any],
    self: MultiScaleRoIAlign,
    x: dict[str, Tensor],
    boxes: list[Tensor],
    image_shapes: list[tuple[int, int]],
) -> Tensor:
    """features {name: [N, C, h, w]}, [boxes [N, P, 4]] in pixels of the resized image -> [N * P, C, *output_size]."""
    (rois,) = boxes
    features = [feature for name, feature in x.items() if name in self.featmap_names]
    scales, mapper = self.scales, self.map_levels
    if scales is None or mapper is None:  # torchvision keeps those of the first image it sees
        scales, mapper = _scales_and_mapper(self, features, image_shapes[0])
    count, slots = rois.shape[0], rois.shape[1]
    image_index = torch.arange(count, device=rois.device).to(rois.dtype).reshape(-1, 1, 1).expand(-1, slots, 1)
    flat = torch.cat([image_index, rois], dim=-1).reshape(-1, 5)
    levels = mapper([flat[:, 1:]]) if len(features) > 1 else torch.zeros_like(flat[:, 0], dtype=torch.int64)
    pooled: Tensor = multi_level_roi_align(
        features, flat, levels, list(scales), list(self.output_size), self.sampling_ratio
    )
    return pooled


def _scales_and_mapper(
    pooler: MultiScaleRoIAlign, features: list[Tensor], image_size: tuple[int, int]
) -> tuple[list[float], LevelMapper]:
    """Scales 2 ** -k of the levels, from their sizes, and the rule that gives a box its level; as torchvision does."""
    scales = [2.0 ** round(math.log2(static_size(feature)[0] / image_size[0])) for feature in features]
    first, last = (int(-math.log2(scale)) for scale in (scales[0], scales[-1]))
    return scales, LevelMapper(first, last, pooler.canonical_scale, pooler.canonical_level)
