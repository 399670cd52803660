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
from rewriters.torchvision_detection.image_size import ImageSize
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from zoo.errors import ExportError


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
    image_shapes: list[ImageSize],
) -> Tensor:
    """features {name: [N, C, h, w]}, [boxes [N, P, 4]] in pixels of the resized image -> [N * P, C, *output_size].

    Also [rows [R, 5]], image index and box -> [R, C, *output_size].
    """
    (rois,) = boxes
    features = [feature for name, feature in x.items() if name in self.featmap_names]
    scales, mapper = self.scales, self.map_levels
    if scales is None or mapper is None:  # torchvision keeps those of the first image it sees
        scales, mapper = _scales_and_mapper(self, features, image_shapes[0])
    flat = rois if rois.dim() == 2 else with_image_index(rois)  # noqa: PLR2004  # rows and values
    levels = mapper([flat[:, 1:]]) if len(features) > 1 else torch.zeros_like(flat[:, 0], dtype=torch.int64)
    pooled: Tensor = multi_level_roi_align(
        features, flat, levels, list(scales), list(self.output_size), self.sampling_ratio
    )
    return pooled


def with_image_index(boxes: Tensor) -> Tensor:
    """boxes [N, P, 4] -> rows [N * P, 5]: the number of its image before each."""
    count, slots = boxes.shape[0], boxes.shape[1]
    image_index = torch.arange(count, device=boxes.device).to(boxes.dtype).reshape(-1, 1, 1).expand(-1, slots, 1)
    return torch.cat([image_index, boxes], dim=-1).reshape(-1, 5)


def _scales_and_mapper(
    pooler: MultiScaleRoIAlign, features: list[Tensor], image_size: ImageSize
) -> tuple[list[float], LevelMapper]:
    """Scales 2 ** -k of the levels, from their sizes, and the rule that gives a box its level; as torchvision does.

    Raises ExportError where the graph computes the sizes: the rule is one of constants.
    """
    if isinstance(image_size, Tensor):
        raise ExportError(
            "MultiScaleRoIAlign takes the scales of its levels from the first image that it sees, and this model has "
            "seen none; with a dynamic height or width, run the model once on a real image before the export"
        )
    scales = [2.0 ** round(math.log2(static_size(feature)[0] / image_size[0])) for feature in features]
    first, last = (int(-math.log2(scale)) for scale in (scales[0], scales[-1]))
    return scales, LevelMapper(first, last, pooler.canonical_scale, pooler.canonical_level)
