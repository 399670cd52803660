"""EncoderDecoder.slide_inference without slice assignment.

For a fixed height and width the weighted mean over the windows that cover a pixel, in two forms:

    pad       sum over windows of F.pad(logits_w, to the image), divided by a constant count. The classic; every window
              builds a tensor of the whole image, so the cost is windows x area.
    segments  each axis is cut at the window edges; a segment is the mean of the slices of the windows that cover it;
              segments are concatenated. Every logit is touched once for each axis, which works because the weights of
              a window are products of those of its rows and of its columns. Where the decode head's logits are much
              smaller than the window, it is computed from them, without resizing a window: coarse_windows.py.

For sizes that only the running graph knows: see run_time_windows.py.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from rewriters.patching.constants import static_size, untraced
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.patching.rewriting import active_target
from rewriters.segmentation.coarse_windows import CoarseAxis, is_coarse, join_coarse
from rewriters.segmentation.run_time_windows import slide_at_run_time
from rewriters.segmentation.segments import Segment, segments
from rewriters.segmentation.sliding_model import SlidingModel
from zoo.errors import InputError
from zoo.models.segmentation import EncoderDecoder
from zoo.models.segmentation.resize import resize
from zoo.windows import BLENDS, WINDOW_BATCH, window_starts


@rewrites(
    EncoderDecoder,
    "slide_inference",
    reason="adds windows into slices of a tensor, which becomes a chain of ScatterND nodes for each window; with a "
    "dynamic size the traced windows would be silently frozen",
    written_for="zooport 0.1",
)
def slide_inference_in_graph(
    original: Callable[..., Tensor],
    self: SlidingModel,
    images: Tensor,
    *,
    accumulate: str = "segments",
) -> Tensor:
    """images [N, 3, H, W] -> mean logits [N, C, H, W].

    `accumulate`: "segments" or "pad", for a fixed height and width. The model takes the target's `window_batch` windows
    of a row at once. Raises InputError for another form.
    """
    if accumulate not in ACCUMULATE:
        raise InputError(f'slide_inference: unknown accumulate "{accumulate}"; expected {" or ".join(ACCUMULATE)}')
    if not has_fixed_size():
        return slide_at_run_time(self, images)
    window_batch = active_target().window_batch or WINDOW_BATCH
    height, width = static_size(images)
    (h_stride, w_stride), (h_crop, w_crop) = self.test_cfg["stride"], self.test_cfg["crop_size"]
    h_crop, w_crop = min(h_crop, height), min(w_crop, width)
    tops, lefts = window_starts(height, h_crop, h_stride), window_starts(width, w_crop, w_stride)
    windows = []
    for top in tops:
        crops = [images[:, :, top : top + h_crop, left : left + w_crop] for left in lefts]
        row: list[Tensor] = []
        for first in range(0, len(crops), window_batch):
            batch = crops[first : first + window_batch]
            logits = _window_logits(self, torch.cat(batch), coarse=accumulate == "segments")
            logits = logits.reshape(len(batch), -1, self.num_classes, *static_size(logits))
            row.extend(logits[index] for index in range(len(batch)))
        windows.append(row)
    if static_size(windows[0][0]) != (h_crop, w_crop):
        columns = CoarseAxis(width, w_crop, lefts, BLENDS[self.windows.blend](w_crop))
        rows = CoarseAxis(height, h_crop, tops, BLENDS[self.windows.blend](h_crop))
        return join_coarse(windows, rows, columns, align_corners=self.align_corners)
    return ACCUMULATE[accumulate](windows, tops, lefts, (height, width), self.windows.blend)


def _window_logits(model: SlidingModel, images: Tensor, *, coarse: bool) -> Tensor:
    """Of windows [N, 3, h, w]; where `coarse` may be and is worth it, of the size that the decode head gives them."""
    own = isinstance(model, EncoderDecoder) and type(model).encode_decode is EncoderDecoder.encode_decode
    if not (coarse and own):
        return model.encode_decode(images)
    assert isinstance(model, EncoderDecoder)
    logits, crop = model.head_logits(images), static_size(images)
    if is_coarse(static_size(logits), crop):
        return logits
    return resize(logits, crop, model.align_corners)


def accumulate_pad(
    windows: Sequence[Sequence[Tensor]], tops: list[int], lefts: list[int], size: tuple[int, int], blend: str
) -> Tensor:
    """windows[row][column] [N, C, h_crop, w_crop] -> mean [N, C, *size]."""
    crop = static_size(windows[0][0])
    weights = untraced(lambda: torch.outer(*(torch.from_numpy(BLENDS[blend](side)) for side in crop)))
    total: Tensor | None = None
    for row, top in zip(windows, tops, strict=True):
        for logits, left in zip(row, lefts, strict=True):
            weighted = logits if blend == "constant" else logits * weights
            padded = F.pad(weighted, _margins(size, crop, top, left))
            total = padded if total is None else total + padded
    assert total is not None  # there is always one window
    return total / untraced(
        lambda: sum(F.pad(weights[None, None], _margins(size, crop, top, left)) for top in tops for left in lefts)
    )


def _margins(size: tuple[int, int], crop: tuple[int, int], top: int, left: int) -> list[int]:
    """What F.pad adds around a window: left, right, top, bottom."""
    return [left, size[1] - left - crop[1], top, size[0] - top - crop[0]]


def accumulate_segments(
    windows: Sequence[Sequence[Tensor]], tops: list[int], lefts: list[int], size: tuple[int, int], blend: str
) -> Tensor:
    """windows[row][column] [N, C, h_crop, w_crop] -> mean [N, C, *size]."""
    h_crop, w_crop = static_size(windows[0][0])
    columns, rows = segments(lefts, w_crop), segments(tops, h_crop)
    strips = [_joined(row, lefts, columns, BLENDS[blend](w_crop), axis=3) for row in windows]
    return _joined(strips, tops, rows, BLENDS[blend](h_crop), axis=2)


def _joined(
    pieces: Sequence[Tensor], starts: list[int], parts: list[Segment], weights: NDArray[np.float32], *, axis: int
) -> Tensor:
    """The weighted mean of overlapping pieces along one axis."""
    joined = []
    for part in parts:
        inside = [slice(part.start - starts[i], part.stop - starts[i]) for i in part.windows]
        slices = [
            pieces[i].narrow(axis, span.start, span.stop - span.start)
            for i, span in zip(part.windows, inside, strict=True)
        ]
        joined.append(_mean(slices, [weights[span] for span in inside], axis) if len(slices) > 1 else slices[0])
    return torch.cat(joined, dim=axis) if len(joined) > 1 else joined[0]


def _mean(slices: Sequence[Tensor], weights: Sequence[NDArray[np.float32]], axis: int) -> Tensor:
    """Of tensors of one shape, each with the weights of its elements along the axis."""
    if all((weight == 1).all() for weight in weights):
        return sum(slices[1:], start=slices[0]) / len(slices)
    total = np.sum(weights, axis=0)
    shape = [-1 if number == axis else 1 for number in range(slices[0].dim())]
    parts = untraced(lambda: [torch.from_numpy(weight / total).reshape(shape) for weight in weights])
    weighted = [piece * part for piece, part in zip(slices, parts, strict=True)]
    return sum(weighted[1:], start=weighted[0])


ACCUMULATE: dict[str, Callable[..., Tensor]] = {"segments": accumulate_segments, "pad": accumulate_pad}
