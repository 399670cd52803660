"""predict_by_feat of SOLO's heads: the masks of the best cells.

Source: Wang et al., SOLO: Segmenting Objects by Locations, ECCV 2020; SOLOv2, NeurIPS 2020.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from mmdet.models.dense_heads import DecoupledSOLOHead, SOLOHead, SOLOV2Head
from torch import Tensor

from rewriters.mmdetection.candidates import map_rows
from rewriters.mmdetection.matrix_nms import mask_instances, rows_of
from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.padded import gather_rows
from zoo.errors import ExportError

REASON = (
    "loops over the images, which freezes the batch size under torchscript, and keeps a data-dependent number of "
    "masks, which dynamo refuses"
)
STRIDE = 4  # of SOLO's masks, in pixels of the image
BYPASSED = ("_predict_by_feat_single",)


@rewrites(SOLOHead, "predict_by_feat", reason=REASON, written_for=WRITTEN_FOR, bypasses=BYPASSED)
def masks_of_cells(
    _original: Callable[..., Any],
    self: Any,
    mlvl_mask_preds: Sequence[Tensor],
    mlvl_cls_scores: Sequence[Tensor],
    batch_img_metas: Any,
    **_options: Any,
) -> Any:
    """A map for each cell: probabilities [N, cells, h, w] of each level, and scores [N, C, grid, grid]."""
    maps = torch.cat(list(mlvl_mask_preds), dim=1)
    return mask_instances(
        self, cell_rows(mlvl_cls_scores), lambda cells: rows_of(maps, cells), batch_img_metas[0], STRIDE
    )


@rewrites(DecoupledSOLOHead, "predict_by_feat", reason=REASON, written_for=WRITTEN_FOR, bypasses=BYPASSED)
def masks_of_rows_and_columns(
    _original: Callable[..., Any],
    self: Any,
    mlvl_mask_preds_x: Sequence[Tensor],
    mlvl_mask_preds_y: Sequence[Tensor],
    mlvl_cls_scores: Sequence[Tensor],
    batch_img_metas: Any,
    **_options: Any,
) -> Any:
    """A map for each row and for each column of a grid, [N, grid, h, w] of each level: a cell has their product."""
    columns, rows = (torch.cat(list(maps), dim=1) for maps in (mlvl_mask_preds_x, mlvl_mask_preds_y))
    of_column, of_row = grid_places(self.num_grids, columns.device)

    def masks_of(cells: Tensor) -> Tensor:
        return rows_of(columns, of_column[cells]) * rows_of(rows, of_row[cells])

    return mask_instances(self, cell_rows(mlvl_cls_scores), masks_of, batch_img_metas[0], STRIDE)


@rewrites(SOLOV2Head, "predict_by_feat", reason=REASON, written_for=WRITTEN_FOR, bypasses=BYPASSED)
def masks_of_kernels(
    _original: Callable[..., Any],
    self: Any,
    mlvl_kernel_preds: Sequence[Tensor],
    mlvl_cls_scores: Sequence[Tensor],
    mask_feats: Tensor,
    batch_img_metas: Any,
    **_options: Any,
) -> Any:
    """A kernel for each cell, [N, E, grid, grid], over one map [N, E, h, w]; scores [N, C, grid, grid] are logits.

    Raises ExportError for kernels of more than one pixel.
    """
    if self.dynamic_conv_size != 1:
        raise ExportError(f"SOLOV2Head: dynamic_conv_size is {self.dynamic_conv_size}, and zooport exports 1")
    scores = cell_rows([local_maxima(level.sigmoid()) for level in mlvl_cls_scores])
    kernels = torch.cat([map_rows(level, self.kernel_out_channels) for level in mlvl_kernel_preds], dim=1)

    def masks_of(cells: Tensor) -> Tensor:
        logits = gather_rows(kernels, cells) @ mask_feats.flatten(2)
        return logits.sigmoid().reshape(*logits.shape[:2], *mask_feats.shape[2:])

    return mask_instances(self, scores, masks_of, batch_img_metas[0], self.mask_stride)


def local_maxima(scores: Tensor) -> Tensor:
    """Scores [N, C, grid, grid], 0 where a neighbour above or on the left is better."""
    best = F.max_pool2d(scores, 2, stride=1, padding=1)[:, :, :-1, :-1]
    return scores * (best == scores)


def cell_rows(scores: Sequence[Tensor]) -> Tensor:
    """[N, C, grid, grid] of each level -> [N, S, C]."""
    return torch.cat([level.flatten(2).transpose(1, 2) for level in scores], dim=1)


def grid_places(grids: Sequence[int], device: torch.device) -> tuple[Tensor, Tensor]:
    """The number of its column and of its row for each cell, counted over all levels: int64 [S] each."""
    columns, rows, first = [], [], 0
    for grid in grids:
        places = torch.arange(grid, device=device) + first
        columns.append(places.repeat(grid))
        rows.append(places.repeat_interleave(grid))
        first += grid
    return torch.cat(columns), torch.cat(rows)
