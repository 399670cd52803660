"""Instances of a fixed number from a grid of cells that have a mask each, by matrix NMS.

Source: Wang et al., SOLOv2: Dynamic and Fast Instance Segmentation, NeurIPS 2020, https://arxiv.org/abs/2003.10152.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rewriters.mmdetection.candidates import number_of_candidates
from rewriters.patching.constants import as_ints
from rewriters.torchvision_detection.padded import emptied, gather_rows, top_rows, without
from zoo.errors import ExportError

CELLS_PER_CANDIDATE = 2
"""Masks are made of so many cells as a multiple of nms_pre: those whose best class has the highest scores."""


def mask_instances(
    head: Any, scores: Tensor, masks_of: Callable[[Tensor], Tensor], sample: Any, stride: int
) -> list[SimpleNamespace]:
    """Scores [N, S, C] of all cells -> [the instances of the batch]: scores and labels [N, K], masks [N, K, H, W].

    `masks_of`: int64 [N, M], cells -> the probabilities of their masks [N, M, h, w], whose pixels are `stride` pixels
    of the image wide. Masks are above 0 inside: the probabilities less the threshold.
    """
    cfg = head.test_cfg
    cells, classes = as_ints(scores.shape[1:])
    limit = number_of_candidates(head, cfg)
    _, chosen = scores.amax(dim=-1).topk(min(cells, CELLS_PER_CANDIDATE * limit), dim=1)
    maps = masks_of(chosen)
    inside = (maps > cfg.mask_thr).to(maps.dtype).flatten(2)
    areas = inside.sum(dim=-1)
    means = (maps.flatten(2) * inside).sum(dim=-1) / areas.clamp(min=1)
    large = areas > cell_strides(head, scores)[chosen]
    of_class = gather_rows(scores, chosen)
    valid = (of_class > cfg.score_thr) & large.unsqueeze(-1)
    best, pairs = top_rows(without(of_class * means.unsqueeze(-1), valid).flatten(1), limit, fixed=True)
    rows = pairs // classes
    labels = pairs - rows * classes
    lowered = best * decay(rows_of(inside, rows), areas.gather(1, rows), labels, cfg)
    kept = without(lowered, (best >= 0) & (lowered >= max(cfg.filter_thr, 0)))
    final, places = top_rows(kept, cfg.max_per_img, fixed=True)
    used = final >= 0
    found = image_masks(rows_of(maps, rows.gather(1, places)), sample, stride)
    return [
        SimpleNamespace(
            scores=final * used,
            labels=torch.where(used, labels.gather(1, places), -1),
            masks=emptied(found.flatten(2), used).reshape(found.shape) - cfg.mask_thr,
        )
    ]


def cell_strides(head: Any, like: Tensor) -> Tensor:
    """[S]: the area that a mask of a cell must exceed."""
    strides = [torch.full((grid**2,), float(stride)) for grid, stride in zip(head.num_grids, head.strides, strict=True)]
    return torch.cat(strides).to(like)


def decay(inside: Tensor, areas: Tensor, labels: Tensor, cfg: Any) -> Tensor:
    """By how much each of the masks [N, P, h * w], best first, is lowered by those of its class before it: [N, P]."""
    shared = inside @ inside.transpose(1, 2)
    unions = areas.unsqueeze(2) + areas.unsqueeze(1) - shared
    count = as_ints(labels.shape[1:])[0]
    before = torch.ones(count, count, dtype=torch.bool).triu(1).to(labels.device)
    meets = before & (labels.unsqueeze(2) == labels.unsqueeze(1))
    overlaps = torch.where(meets, shared / unions.clamp(min=1), 0.0)  # [N, of, on]
    most = overlaps.amax(dim=1).unsqueeze(2)  # by how much one is lowered itself
    if cfg.kernel == "gaussian":
        factors = torch.exp(-cfg.sigma * overlaps**2) / torch.exp(-cfg.sigma * most**2)
    elif cfg.kernel == "linear":
        factors = (1 - overlaps) / (1 - most)
    else:
        raise ExportError(f"test_cfg.kernel is {cfg.kernel!r}, expected 'gaussian' or 'linear'")
    return factors.amin(dim=1)


def image_masks(maps: Tensor, sample: Any, stride: int) -> Tensor:
    """[N, K, h, w] -> [N, K, H, W], the pixels of the images, which fill the batch."""
    height, width = maps.shape[-2:]
    enlarged = F.interpolate(maps, size=(height * stride, width * stride), mode="bilinear")
    rows, columns = sample["batch_input_shape"]
    return enlarged[..., :rows, :columns]


def rows_of(maps: Tensor, rows: Tensor) -> Tensor:
    """maps [N, M, ...], rows int64 [N, P] -> [N, P, ...]: one gather of whole maps for the batch."""
    images = torch.arange(maps.shape[0], device=maps.device).unsqueeze(1)
    flat = maps.flatten(0, 1).index_select(0, (rows + images * maps.shape[1]).flatten())
    return flat.reshape(-1, *as_ints(rows.shape[1:]), *maps.shape[2:])
