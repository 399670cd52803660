"""The losses of CenterPoint: a peak on the heatmap for each object, and what its cell gives.

Source: Yin et al., Center-based 3D Object Detection and Tracking, CVPR 2021, section 4; Law and Deng, CornerNet, ECCV
2018, for the loss of the heatmap and the radius of a peak.
"""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

HEATMAP_WEIGHT, BOX_WEIGHT = 1.0, 0.25
ALPHA, BETA = 2, 4  # of the focal loss
LEAST_OVERLAP = 0.1  # of two boxes whose corners are a radius apart
LEAST_RADIUS = 2  # cells
DIAMETER = 6  # of a peak, in standard deviations


def center_losses(
    maps: Sequence[Tensor], low: tuple[float, float], cell: float, targets: Sequence[Mapping[str, Tensor]]
) -> dict[str, Tensor]:
    """The head's maps, `low` x y of the first cell, `cell` its side, metres -> the losses.

    Objects whose centres are outside of the maps are left out.
    """
    heatmap, *regressed = maps
    codes = torch.cat(regressed, dim=1)
    rows, columns = heatmap.shape[-2:]
    peaks, predicted, wanted = torch.zeros_like(heatmap), [], []
    for number, target in enumerate(targets):
        place = (target["boxes"][:, :2] - target["boxes"].new_tensor(low)) / cell
        corner = place.floor().long()
        inside = (corner >= 0).all(dim=1) & (corner[:, 0] < columns) & (corner[:, 1] < rows)
        boxes, labels, place, corner = (values[inside] for values in (target["boxes"], target["labels"], place, corner))
        _draw_peaks(peaks[number], corner, labels, radii(boxes[:, 3:5] / cell))
        predicted.append(codes[number, :, corner[:, 1], corner[:, 0]].T)
        wanted.append(_codes(boxes, place - corner))
    count = max(sum(len(codes) for codes in wanted), 1)
    box = F.l1_loss(torch.cat(predicted), torch.cat(wanted), reduction="sum")
    return {
        "loss_heatmap": HEATMAP_WEIGHT * _focal(heatmap, peaks) / count,
        "loss_box": BOX_WEIGHT * box / count,
    }


def radii(sides: Tensor) -> Tensor:
    """Length and width of objects [n, 2], in cells -> the radius of each one's peak, whole cells [n].

    The least of the three ways in which a box with corners that far off still has the overlap LEAST_OVERLAP: moved,
    shrunk, grown.
    """
    total, area = sides.sum(dim=1), sides.prod(dim=1)
    moved = _root(1, total, area * (1 - LEAST_OVERLAP) / (1 + LEAST_OVERLAP))
    shrunk = _root(4, 2 * total, (1 - LEAST_OVERLAP) * area)
    grown = _root(4 * LEAST_OVERLAP, -2 * LEAST_OVERLAP * total, (LEAST_OVERLAP - 1) * area)
    return torch.stack((moved, shrunk, grown)).amin(dim=0).floor().clamp(min=LEAST_RADIUS)


def _root(a: float, b: Tensor, c: Tensor) -> Tensor:
    """As CornerNet's authors compute it."""
    return (b + (b.square() - 4 * a * c).sqrt()) / 2


def _draw_peaks(peaks: Tensor, corner: Tensor, labels: Tensor, radius: Tensor) -> None:
    """Into peaks [C, h, w], in place: 1 in the object's cell, a Gaussian around it, the largest where several meet."""
    _, rows, columns = peaks.shape
    y, x = torch.arange(rows, device=peaks.device)[:, None], torch.arange(columns, device=peaks.device)
    for (column, row), label, reach in zip(corner, labels, radius, strict=True):
        deviation = (2 * reach + 1) / DIAMETER
        distance = (x - column).square() + (y - row).square()
        near = ((x - column).abs() <= reach) & ((y - row).abs() <= reach)
        gaussian = torch.where(near, (-distance / (2 * deviation.square())).exp(), 0.0)
        peaks[label] = torch.maximum(peaks[label], gaussian)


def _codes(boxes: Tensor, offset: Tensor) -> Tensor:
    """[n, 7], x y in the cell [n, 2] -> [n, 8] as the head's maps."""
    yaw = boxes[:, 6:]
    return torch.cat((offset, boxes[:, 2:3], boxes[:, 3:6].log(), yaw.sin(), yaw.cos()), dim=1)


def _focal(logits: Tensor, peaks: Tensor) -> Tensor:
    """Summed."""
    score = logits.sigmoid()
    object_loss = F.logsigmoid(logits) * (1 - score) ** ALPHA
    ground_loss = F.logsigmoid(-logits) * score**ALPHA * (1 - peaks) ** BETA
    return -torch.where(peaks == 1, object_loss, ground_loss).sum()
