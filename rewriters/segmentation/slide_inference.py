"""EncoderDecoder.slide_inference without slice assignment.

For a fixed height and width the mean over the windows that cover a pixel, in two forms:

    pad       sum over windows of F.pad(logits_w, to the image), divided by a constant count. The classic; every window
              builds a tensor of the whole image, so the cost is windows x area.
    segments  each axis is cut at the window edges; a segment is the sum of the slices of the windows that cover it,
              divided by their number; segments are concatenated. Every logit is touched once for each axis.

For sizes that only the running graph knows: see run_time_windows.py.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rewriters.engine.constants import static_size, untraced
from rewriters.engine.fixed_size import has_fixed_size
from rewriters.engine.rewriter import rewrites
from rewriters.segmentation.run_time_windows import slide_at_run_time
from rewriters.segmentation.windows import Segment, segments, window_starts
from zoo.errors import ExportError
from zoo.models.segmentation import EncoderDecoder


@rewrites(
    EncoderDecoder,
    "slide_inference",
    reason="adds windows into slices of a tensor, which becomes a chain of ScatterND nodes for each window; with a "
    "dynamic size the traced windows would be silently frozen",
    written_for="zooport 0.1",
)
def slide_inference_in_graph(
    original: Callable[..., Tensor],
    self: EncoderDecoder,
    images: Tensor,
    *,
    accumulate: str = "segments",
    window_batch: int = 8,
) -> Tensor:
    """images [N, 3, H, W] -> mean logits [N, C, H, W].

    `accumulate`: "segments" or "pad". `window_batch`: how many windows of a row the model takes at once, 1 for one
    after another. Both are for a fixed height and width. Raises ExportError for other values.
    """
    if accumulate not in ACCUMULATE:
        raise ExportError(f'slide_inference: unknown accumulate "{accumulate}"; expected {" or ".join(ACCUMULATE)}')
    if isinstance(window_batch, bool) or not isinstance(window_batch, int) or window_batch < 1:
        raise ExportError(f"slide_inference: window_batch {window_batch!r}; expected a number of windows, 1 or more")
    if not has_fixed_size():
        return slide_at_run_time(self, images)
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
            found = self.encode_decode(torch.cat(batch)).reshape(len(batch), -1, self.num_classes, h_crop, w_crop)
            row.extend(found[index] for index in range(len(batch)))
        windows.append(row)
    return ACCUMULATE[accumulate](windows, tops, lefts, (height, width))


def accumulate_pad(
    windows: Sequence[Sequence[Tensor]], tops: list[int], lefts: list[int], size: tuple[int, int]
) -> Tensor:
    """windows[row][column] [N, C, h_crop, w_crop] -> mean [N, C, *size]."""
    crop = static_size(windows[0][0])
    total: Tensor | None = None
    for row, top in zip(windows, tops, strict=True):
        for logits, left in zip(row, lefts, strict=True):
            padded = F.pad(logits, _margins(size, crop, top, left))
            total = padded if total is None else total + padded
    assert total is not None  # there is always one window
    return total / untraced(
        lambda: sum(F.pad(torch.ones(1, 1, *crop), _margins(size, crop, top, left)) for top in tops for left in lefts)
    )


def _margins(size: tuple[int, int], crop: tuple[int, int], top: int, left: int) -> list[int]:
    """What F.pad adds around a window: left, right, top, bottom."""
    return [left, size[1] - left - crop[1], top, size[0] - top - crop[0]]


def accumulate_segments(
    windows: Sequence[Sequence[Tensor]], tops: list[int], lefts: list[int], size: tuple[int, int]
) -> Tensor:
    """windows[row][column] [N, C, h_crop, w_crop] -> mean [N, C, *size]."""
    h_crop, w_crop = static_size(windows[0][0])
    columns, rows = segments(lefts, w_crop), segments(tops, h_crop)
    strips = [_joined(row, lefts, columns, axis=3) for row in windows]
    return _joined(strips, tops, rows, axis=2)


def _joined(pieces: Sequence[Tensor], starts: list[int], parts: list[Segment], *, axis: int) -> Tensor:
    """The mean of overlapping pieces along one axis."""
    joined = []
    for part in parts:
        slices = [pieces[i].narrow(axis, part.start - starts[i], part.stop - part.start) for i in part.windows]
        joined.append(sum(slices[1:], start=slices[0]) / len(slices) if len(slices) > 1 else slices[0])
    return torch.cat(joined, dim=axis) if len(joined) > 1 else joined[0]


ACCUMULATE: dict[str, Callable[..., Tensor]] = {"segments": accumulate_segments, "pad": accumulate_pad}
