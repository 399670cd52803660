"""MultiScaleRoIAlign.forward: each box is pooled from its own level, the levels are joined by one gather."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.ops.poolers import LevelMapper, MultiScaleRoIAlign

from rewriters.ops.multi_level_roi_align import multi_level_roi_align
from rewriters.patching.constants import as_ints, static_size
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.image_size import ImageSize
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from rewriters.torchvision_detection.whole_batch import is_whole_batch
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
    """features {name: [N, C, h, w]}, boxes in pixels of the resized image -> [R, C, *output_size], R boxes in all.

    `boxes`: a WholeBatch of [N, P, 4], or of rows [R, 5] of image index and box; or torchvision's own list, [P, 4] for
    each image, where a box with one reversed side gives zeros if there are several levels.
    """
    whole = is_whole_batch(boxes, image_shapes)
    features = [feature for name, feature in x.items() if name in self.featmap_names]
    scales, mapper = self.scales, self.map_levels
    if scales is None or mapper is None:  # torchvision keeps those of the first image it sees
        size = image_shapes[0] if whole else _largest(image_shapes)
        scales, mapper = _scales_and_mapper(self, features, size)
    flat = _rows(boxes[0]) if whole else _joined(boxes)
    leveled = None
    if not whole and len(features) > 1:  # elsewhere boxes may be malformed: torchvision pools those from no level
        leveled = ((flat[:, 3] - flat[:, 1]) * (flat[:, 4] - flat[:, 2]) >= 0).unsqueeze(1)
        flat = torch.where(leveled, flat, 0.0)
    levels = mapper([flat[:, 1:]]) if len(features) > 1 else torch.zeros_like(flat[:, 0], dtype=torch.int64)
    pooled: Tensor = multi_level_roi_align(
        features, flat, levels, list(scales), list(self.output_size), self.sampling_ratio
    )
    return pooled if leveled is None else torch.where(leveled[:, :, None, None], pooled, 0.0)


def _rows(boxes: Tensor) -> Tensor:
    """Boxes [N, P, 4], or rows [R, 5] already -> rows."""
    return boxes if boxes.dim() == 2 else with_image_index(boxes)  # noqa: PLR2004  # rows and values


def _joined(boxes: Sequence[Tensor]) -> Tensor:
    """Boxes [P, 4] of each image -> rows [R, 5], the number of its image before each box."""
    return torch.cat([F.pad(boxes_of_image, (1, 0), value=index) for index, boxes_of_image in enumerate(boxes)])


def _largest(image_shapes: Sequence[Any]) -> tuple[int, int]:
    """(h, w) of a batch that holds all images."""
    heights, widths = zip(*(as_ints(size) for size in image_shapes), strict=True)
    return max(heights), max(widths)


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
