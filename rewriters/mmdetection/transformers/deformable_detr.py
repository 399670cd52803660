"""Deformable DETR and DINO: the sizes of their maps as numbers, which a graph may compute.

Source: Zhu et al., Deformable DETR, ICLR 2021; Zhang et al., DINO, ICLR 2023.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmdet.models.detectors import DINO, DeformableDETR
from mmdet.models.layers import DeformableDetrTransformerEncoder
from mmdet.models.layers.transformer import utils
from torch import Tensor

from rewriters.attention.inverse_sigmoid import REASON, inverse_sigmoid
from rewriters.mmdetection.transformers.level_inputs import Size, joined, level_input, level_size, places
from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.patching.rewriter import rewrites
from zoo.contract.coordinates import size_tensor

SIZES = "reads the sizes of the maps from a tensor: torchscript freezes them, and dynamo cannot know them"
SMALLEST = 0.05  # the sides of a proposal of the first level, as parts of the image
NEAR_EDGE = 0.01
HALF = 0.5  # from the corner of a cell to its centre


@rewrites(DeformableDETR, "pre_transformer", reason=SIZES, written_for=WRITTEN_FOR)
def pre_transformer_with_sizes(
    _original: Callable[..., Any], self: Any, mlvl_feats: Sequence[Tensor], batch_data_samples: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """As the original's, whose `spatial_shapes` are pairs of numbers. Without padding ratios are [1, L, 2]."""
    (sample,) = batch_data_samples
    levels = [level_input(level, sample, self.positional_encoding) for level in mlvl_feats]
    mask = joined([level.padding for level in levels])
    ratios = [self.get_valid_ratio(level.padding) for level in levels if level.padding is not None]
    shared = {
        "spatial_shapes": [level_size(level) for level in mlvl_feats],
        "level_start_index": None,
        "valid_ratios": torch.stack(ratios, dim=1) if ratios else mlvl_feats[0].new_ones(1, len(levels), 2),
    }
    positions = [level.positions + code for level, code in zip(levels, self.level_embed, strict=True)]
    rows = torch.cat([level.rows for level in levels], dim=1)
    encoder = {"feat": rows, "feat_mask": mask, "feat_pos": torch.cat(positions, dim=1), **shared}
    return encoder, {"memory_mask": mask, **shared}


@rewrites(DeformableDetrTransformerEncoder, "get_encoder_reference_points", reason=SIZES, written_for=WRITTEN_FOR)
def reference_points(
    _original: Callable[..., Any], spatial_shapes: Sequence[Size], valid_ratios: Tensor, device: torch.device
) -> Tensor:
    """The centres of all cells as parts of the images, on every level: [N, S, L, 2]. `valid_ratios`: [N, L, 2]."""
    centres = []
    for level, size in enumerate(spatial_shapes):
        x, y = places(size, device, HALF)
        height, width = size
        parts = (x / (valid_ratios[:, level, :1] * width), y / (valid_ratios[:, level, 1:] * height))
        centres.append(torch.stack(parts, dim=-1))
    return torch.cat(centres, dim=1).unsqueeze(2) * valid_ratios.unsqueeze(1)


@rewrites(DeformableDETR, "gen_encoder_output_proposals", reason=SIZES, written_for=WRITTEN_FOR)
def proposals(
    _original: Callable[..., Any], self: Any, memory: Tensor, memory_mask: Tensor | None, spatial_shapes: Sequence[Size]
) -> tuple[Tensor, Tensor]:
    """memory [N, S, C] -> the same for proposals, zero where there are none, and proposals [N or 1, S, 4], logits."""
    boxes, start = [], 0
    for level, (height, width) in enumerate(spatial_shapes):
        x, y = places((height, width), memory.device, HALF)
        ends = size_tensor(height, width)
        if memory_mask is not None:
            inside = ~memory_mask[:, start : start + height * width].reshape(-1, height, width)
            ends = torch.stack((inside[:, :, 0].sum(dim=1), inside[:, 0].sum(dim=1)), dim=1)
        centres = torch.stack((x / ends[:, 1:], y / ends[:, :1]), dim=-1)
        boxes.append(torch.cat((centres, torch.full_like(centres, SMALLEST * 2.0**level)), dim=-1))
        start = start + height * width
    found = torch.cat(boxes, dim=1)
    outside = ~((found > NEAR_EDGE) & (found < 1 - NEAR_EDGE)).all(dim=-1, keepdim=True)
    if memory_mask is not None:
        outside = outside | memory_mask.unsqueeze(-1)
    kept = self.memory_trans_norm(self.memory_trans_fc(memory.masked_fill(outside, 0.0)))
    return kept, torch.log(found / (1 - found)).masked_fill(outside, torch.inf)


@rewrites(
    DINO,
    "forward_decoder",
    reason="len() of the queries makes the traced batch the only one that dynamo's graph takes",
    written_for=WRITTEN_FOR,
    exporter="dynamo",
)
def forward_decoder_of_any_batch(
    _original: Callable[..., Any], self: Any, query: Tensor, memory: Tensor, memory_mask: Tensor | None, **options: Any
) -> dict[str, Any]:
    """Without the product by zero that the original adds for a training."""
    states, references = self.decoder(
        query=query,
        value=memory,
        key_padding_mask=memory_mask,
        self_attn_mask=options.pop("dn_mask", None),
        reg_branches=self.bbox_head.reg_branches,
        **options,
    )
    return {"hidden_states": states, "references": list(references)}


rewrites(utils, "inverse_sigmoid", reason=REASON, written_for=WRITTEN_FOR, exporter="dynamo")(inverse_sigmoid)
