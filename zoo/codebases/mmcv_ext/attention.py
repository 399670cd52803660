"""Attention at chosen places: deformable attention over several maps, and PSANet's masks."""

import torch
import torch.nn.functional as F
from torch import Tensor

COLLECT = 0  # the psa_type; 1 is to distribute


def ms_deform_attn_forward(
    value: Tensor,
    value_spatial_shapes: Tensor,
    value_level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    *,
    im2col_step: int,
) -> Tensor:
    """Samples of L maps, weighed and added: values [N, S, M, D] of all maps -> [N, Q, M * D].

    `value_spatial_shapes` [L, 2]: (h, w) of the maps, whose cells follow each other. `sampling_locations`
    [N, Q, M, L, P, 2]: x, y, 0..1 over a map; `attention_weights` [N, Q, M, L, P]. Bilinear, zeros outside. Source: Zhu
    et al., Deformable DETR, ICLR 2021, https://arxiv.org/abs/2010.04159.
    """
    count, _, heads, channels = value.shape
    queries, points = sampling_locations.shape[1], sampling_locations.shape[4]
    sizes = [(int(height), int(width)) for height, width in value_spatial_shapes]
    maps = torch.split(value, [height * width for height, width in sizes], dim=1)
    grids = 2 * sampling_locations.permute(3, 0, 2, 1, 4, 5).flatten(1, 2) - 1  # [L, N * M, Q, P, 2]
    samples = [
        F.grid_sample(
            cells.permute(0, 2, 3, 1).reshape(count * heads, channels, *size),
            grid,
            mode="bilinear",
            padding_mode="zeros",
            align_corners=False,
        )
        for cells, size, grid in zip(maps, sizes, grids, strict=True)
    ]
    weights = attention_weights.transpose(1, 2).reshape(count * heads, 1, queries, len(sizes) * points)
    attended = (torch.cat(samples, dim=-1) * weights).sum(dim=-1)  # [N * M, D, Q]
    return attended.reshape(count, heads * channels, queries).transpose(1, 2).contiguous()


def psamask_forward(
    input: Tensor,  # noqa: A002 - mmcv's name
    output: Tensor,
    *,
    psa_type: int,
    num_: int,
    h_feature: int,
    w_feature: int,
    h_mask: int,
    w_mask: int,
    half_h_mask: int,
    half_w_mask: int,
) -> None:
    """Writes into `output` [N, H * W, H, W] what masks `input` [N, h_mask * w_mask, H, W] say of pairs of places.

    A place's mask is centred on it. Collecting, `output[n, there, here]` is how much the mask of `here` has for
    `there`; distributing, the two are exchanged. Zero where a mask does not reach. Source: Zhao et al., PSANet, ECCV
    2018.
    """
    rows, columns = torch.arange(h_feature), torch.arange(w_feature)
    row = rows[None] - rows[:, None] + half_h_mask  # [H here, H there], in the mask of here
    column = columns[None] - columns[:, None] + half_w_mask
    reached = ((row >= 0) & (row < h_mask))[:, None, :, None] & ((column >= 0) & (column < w_mask))[None, :, None]
    cell = row.clamp(0, h_mask - 1)[:, None, :, None] * w_mask + column.clamp(0, w_mask - 1)[None, :, None]
    index = cell.flatten(2).permute(2, 0, 1).to(input.device)  # [there, H, W]
    pairs = input.gather(1, index.expand(num_, -1, -1, -1)) * reached.flatten(2).permute(2, 0, 1).to(input)
    if psa_type != COLLECT:
        pairs = pairs.flatten(2).transpose(1, 2).reshape(pairs.shape)
    output.copy_(pairs)
