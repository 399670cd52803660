"""Deformable attention of mmcv as one operator.

Source: Zhu et al., Deformable DETR, ICLR 2021, https://arxiv.org/abs/2010.04159.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmcv.ops import MultiScaleDeformableAttention
from torch import Tensor

from rewriters.attention.deformable_attention import deformable_attention
from rewriters.mmdetection.transformers.level_inputs import Size
from rewriters.patching.rewriter import rewrites
from zoo.contract.coordinates import size_tensor

CORNERS = 4  # values of a reference box; a reference point has 2

Sizes = Tensor | Sequence[Size]
"""(h, w) of each level, int64 [L, 2] or pairs."""


@rewrites(
    MultiScaleDeformableAttention,
    "forward",
    reason="one operator instead of dozens of nodes for each level; asserts on the values of a tensor, which dynamo "
    "refuses",
    written_for="mmcv 2.1.0, onedl-mmcv 2.3.6",
)
def forward_one_operator(
    _original: Callable[..., Any],
    self: Any,
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    identity: Tensor | None = None,
    query_pos: Tensor | None = None,
    key_padding_mask: Tensor | None = None,
    reference_points: Tensor | None = None,
    spatial_shapes: Sizes = (),
    level_start_index: Tensor | None = None,
    **options: Any,
) -> Any:
    """Query [N, Q, E] -> [N, Q, E]; with the first two axes exchanged where the module has not batch_first."""
    asked = query if query_pos is None else query + query_pos
    source = query if value is None else value
    if not self.batch_first:
        asked, source = asked.transpose(0, 1), source.transpose(0, 1)
    values = self.value_proj(source)
    if key_padding_mask is not None:
        values = values.masked_fill(key_padding_mask[..., None], 0.0)
    heads, levels, points = self.num_heads, self.num_levels, self.num_points
    values = torch.unflatten(values, 2, (heads, -1))
    offsets = torch.unflatten(self.sampling_offsets(asked), 2, (heads, levels, points, 2))
    weights = torch.unflatten(self.attention_weights(asked), 2, (heads, levels * points)).softmax(dim=-1)
    assert reference_points is not None
    sizes = spatial_shapes
    if not isinstance(sizes, Tensor):
        sizes = torch.cat([size_tensor(*size) for size in sizes])
    places = reference_points[:, :, None, :, None, :2] + _in_units(offsets, reference_points, sizes, points)
    attended = deformable_attention(values, sizes, places.flatten(3, 4), weights, [points] * levels)
    result = self.output_proj(attended)
    if not self.batch_first:
        result = result.transpose(0, 1)
    return self.dropout(result) + (query if identity is None else identity)


def _in_units(offsets: Tensor, references: Tensor, sizes: Tensor, points: int) -> Tensor:
    """Offsets [N, Q, M, L, P, 2] in units of the maps: they count in cells, or in the sides of reference boxes."""
    if references.shape[-1] == CORNERS:
        return offsets / points * references[:, :, None, :, None, 2:] * 0.5
    return offsets / sizes.flip(-1)[:, None].to(offsets.dtype)
