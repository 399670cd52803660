"""Slide inference at sizes that only the running graph knows.

All windows are one batch. Along an axis the pixel x is covered by windows floor(x / stride) - j, j = 0 .. ceil(crop /
stride) - 1, as far as they exist and reach it, and by the last window, which is moved inside the image; so its logits
are the mean of so many gathered values, for every size, and the cost grows with the area.
"""

import torch
from torch import Tensor

from rewriters.engine.rewriting import active_target
from zoo.errors import ExportError
from zoo.models.segmentation import EncoderDecoder


def slide_at_run_time(model: EncoderDecoder, images: Tensor) -> Tensor:
    """images [N, 3, H, W] -> mean logits [N, C, H, W].

    Raises ExportError where the target allows images smaller than a window.
    """
    (h_stride, w_stride), (h_crop, w_crop) = model.test_cfg["stride"], model.test_cfg["crop_size"]
    _check_range(h_crop, w_crop)
    count, channels, height, width = images.shape
    tops, lefts = _starts(height, h_crop, h_stride), _starts(width, w_crop, w_stride)
    rows, columns = tops.shape[0], lefts.shape[0]
    crops = images.index_select(2, _cells(tops, h_crop)).index_select(3, _cells(lefts, w_crop))
    crops = crops.reshape(count, channels, rows, h_crop, columns, w_crop).permute(2, 0, 1, 3, 4, 5)
    crops = crops.permute(0, 4, 1, 2, 3, 5).reshape(rows * columns * count, channels, h_crop, w_crop)
    logits = model.encode_decode(crops).reshape(rows, columns, count, model.num_classes, h_crop, w_crop)
    strips = logits.permute(0, 2, 3, 4, 1, 5).reshape(rows, count, model.num_classes, h_crop, columns * w_crop)
    strips = _joined(strips, width, lefts, w_crop, w_stride, dim=4)
    stacked = strips.permute(1, 2, 0, 3, 4).reshape(count, model.num_classes, rows * h_crop, width)
    return _joined(stacked, height, tops, h_crop, h_stride, dim=2)


def _check_range(h_crop: int, w_crop: int) -> None:
    target = active_target()
    for axis, crop in (("height", h_crop), ("width", w_crop)):
        sizes = getattr(target, axis)
        if sizes.min < crop:
            raise ExportError(
                f"slide inference with a dynamic size: {axis} may be {sizes.min} pixels and a window has {crop}; a "
                f"smaller image would need smaller windows; give --dynamic {axis}={crop}:{max(crop, sizes.opt)}:"
                f"{max(crop, sizes.max)}, or let the preprocessing resize to one size"
            )


def _starts(size: int, crop: int, stride: int) -> Tensor:
    """First elements of the windows, int64 [n], by the rule of `windows.window_starts`; `size` is at least `crop`."""
    count = (size - crop + stride - 1) // stride + 1
    return (torch.arange(count) * stride).clamp(max=size - crop)


def _cells(starts: Tensor, crop: int) -> Tensor:
    """The elements of all windows of an axis, one window after another, int64 [n * crop]."""
    return (starts.unsqueeze(1) + torch.arange(crop)).flatten()


def _joined(pieces: Tensor, size: int, starts: Tensor, crop: int, stride: int, *, dim: int) -> Tensor:
    """pieces [..., n * crop, ...] along `dim` -> their mean at each of `size` places."""
    places = torch.arange(size)
    last = starts.shape[0] - 1
    covering = []
    for number in range(-(-crop // stride)):
        window = torch.div(places, stride, rounding_mode="floor") - number
        inside = places - window * stride
        covering.append((window * crop + inside, (window >= 0) & (window < last) & (inside < crop)))
    inside = places - (size - crop)
    covering.append((last * crop + inside, inside >= 0))
    shape = [-1 if axis == dim else 1 for axis in range(pieces.dim())]
    total = torch.stack([covers for _, covers in covering]).sum(dim=0)
    parts = [
        pieces.index_select(dim, torch.where(covers, index, torch.zeros_like(index)))
        * (covers / total).to(pieces.dtype).reshape(shape)
        for index, covers in covering
    ]
    return sum(parts[1:], start=parts[0])
