"""Slide inference at sizes that only the running graph knows.

All windows are one batch. Along an axis the pixel x is covered by windows floor(x / stride) - j, j = 0 .. ceil(crop /
stride) - 1, as far as they exist and reach it, and by the last window, which is moved inside the image; so its logits
are the mean of so many gathered values, for every size, and the cost grows with the area.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rewriters.patching.constants import untraced
from rewriters.patching.rewriting import active_target
from rewriters.segmentation.sliding_model import SlidingModel
from zoo.errors import ExportError
from zoo.windows import BLENDS


def slide_at_run_time(model: SlidingModel, images: Tensor) -> Tensor:
    """images [N, 3, H, W] -> mean logits [N, C, H, W].

    Raises ExportError where the target allows images smaller than a window, or has a `window_batch`.
    """
    (h_stride, w_stride), (h_crop, w_crop) = model.test_cfg["stride"], model.test_cfg["crop_size"]
    _check_target(h_crop, w_crop)
    blend = BLENDS[model.windows.blend]
    count, channels, height, width = images.shape
    tops, lefts = _starts(height, h_crop, h_stride), _starts(width, w_crop, w_stride)
    rows, columns = tops.shape[0], lefts.shape[0]
    crops = images.index_select(2, _cells(tops, h_crop)).index_select(3, _cells(lefts, w_crop))
    crops = crops.reshape(count, channels, rows, h_crop, columns, w_crop).permute(2, 0, 1, 3, 4, 5)
    crops = crops.permute(0, 4, 1, 2, 3, 5).reshape(rows * columns * count, channels, h_crop, w_crop)
    logits = model.encode_decode(crops).reshape(rows, columns, count, model.num_classes, h_crop, w_crop)
    strips = logits.permute(0, 2, 3, 4, 1, 5).reshape(rows, count, model.num_classes, h_crop, columns * w_crop)
    strips = _joined(strips, width, lefts, blend(w_crop), w_stride, dim=4)
    stacked = strips.permute(1, 2, 0, 3, 4).reshape(count, model.num_classes, rows * h_crop, width)
    return _joined(stacked, height, tops, blend(h_crop), h_stride, dim=2)


def _check_target(h_crop: int, w_crop: int) -> None:
    target = active_target()
    if target.window_batch is not None:
        raise ExportError(
            f"slide inference with a dynamic size: window_batch is {target.window_batch}, and the graph takes all "
            "windows at once; leave it out, or give --slide host, whose memory does not grow with the image"
        )
    for axis, crop in (("height", h_crop), ("width", w_crop)):
        sizes = target.axes[axis]
        if sizes.min < crop:
            raise ExportError(
                f"slide inference with a dynamic size: {axis} may be {sizes.min} pixels and a window has {crop}; a "
                f"smaller image would need smaller windows; give --dynamic {axis}={crop}:{max(crop, sizes.opt)}:"
                f"{max(crop, sizes.max)}, or let the preprocessing resize to one size"
            )


def _starts(size: int, crop: int, stride: int) -> Tensor:
    """First elements of the windows, int64 [n], by the rule of `zoo.windows`; `size` is at least `crop`."""
    count = (size - crop + stride - 1) // stride + 1
    return (torch.arange(count) * stride).clamp(max=size - crop)


def _cells(starts: Tensor, crop: int) -> Tensor:
    """The elements of all windows of an axis, one window after another, int64 [n * crop]."""
    return (starts.unsqueeze(1) + torch.arange(crop)).flatten()


def _joined(
    pieces: Tensor, size: int, starts: Tensor, weights: NDArray[np.float32], stride: int, *, dim: int
) -> Tensor:
    """pieces [..., n * crop, ...] along `dim` -> their mean at each of `size` places. `weights`: of a window [crop]."""
    crop = len(weights)
    own_weights = untraced(lambda: torch.from_numpy(weights))
    places = torch.arange(size)
    last = starts.shape[0] - 1
    covering = []
    for number in range(-(-crop // stride)):
        window = torch.div(places, stride, rounding_mode="floor") - number
        inside = places - window * stride
        covering.append((window * crop + inside, inside, (window >= 0) & (window < last) & (inside < crop)))
    inside = places - (size - crop)
    covering.append((last * crop + inside, inside, inside >= 0))
    shares = [covers * own_weights.index_select(0, inside.clamp(0, crop - 1)) for _, inside, covers in covering]
    total = sum(shares[1:], start=shares[0])
    shape = [-1 if axis == dim else 1 for axis in range(pieces.dim())]
    parts = [
        pieces.index_select(dim, torch.where(covers, index, torch.zeros_like(index))) * (weight / total).reshape(shape)
        for (index, _, covers), weight in zip(covering, shares, strict=True)
    ]
    return sum(parts[1:], start=parts[0])
