"""The Swin Transformer of OpenMMLab's libraries: windows of a batch and a size that a tracer may follow.

Source: Liu et al., Swin Transformer: Hierarchical Vision Transformer using Shifted Windows, ICCV 2021.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from rewriters.patching.constants import as_ints, untraced
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from zoo.models.segmentation.backbones.shifted_windows import apart, cut, joined
from zoo.models.segmentation.backbones.transformer_layer import shortage

PADDING = "whether a side is padded is decided while tracing: the graph fails at a size that needs other padding"
PAIR = (2, 2)
ALONE = (1, 1)


def attention_in_windows(_original: Callable[..., Tensor], self: Any, query: Tensor, hw_shape: Sequence[Any]) -> Tensor:
    """ShiftWindowMSA.forward: places [N, h * w, C] -> the same, after attention within windows."""
    side, shift, fixed = self.window_size, self.shift_size, has_fixed_size()
    height, width = as_ints(hw_shape) if fixed else hw_shape
    (channels,) = as_ints(query.shape[2:])
    x = query.reshape(query.shape[0], height, width, channels)
    x = F.pad(x, (0, 0, 0, shortage(width, side), 0, shortage(height, side)))
    shape = (query.shape[0], height + shortage(height, side), width + shortage(width, side), channels)
    mask = None
    if shift:
        x = x.roll((-shift, -shift), dims=(1, 2))
        mask = untraced(lambda: _mask(shape, side, shift, query)) if fixed else _mask(shape, side, shift, x)
    windows = cut(x, side).reshape(-1, side**2, channels)
    x = joined(self.w_msa(windows, mask=mask), side, shape)
    if shift:
        x = x.roll((shift, shift), dims=(1, 2))
    result: Tensor = self.drop(x[:, :height, :width].reshape(query.shape[0], height * width, channels))
    return result


def _mask(shape: Sequence[Any], side: int, shift: int, like: Tensor) -> Tensor:
    """[windows, side * side, side * side]."""
    return apart(shape[1], shape[2], side, shift, like).squeeze(1)


def merged_places(_original: Callable[..., Any], self: Any, x: Tensor, input_size: Sequence[Any]) -> Any:
    """PatchMerging.forward: places [N, h * w, C] -> [N, h / 2 * w / 2, C'] and (h / 2, w / 2): four become one."""
    sampler = self.sampler
    if has_fixed_size() or (sampler.kernel_size, sampler.stride, sampler.dilation) != (PAIR, PAIR, ALONE):
        return NotImplemented
    (height, width), (channels,) = input_size, as_ints(x.shape[2:])
    x = x.reshape(x.shape[0], height, width, channels)
    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    rows, columns = (height + height % 2) // 2, (width + width % 2) // 2
    x = x.reshape(x.shape[0], rows, 2, columns, 2, channels).permute(0, 1, 3, 5, 2, 4)
    x = x.reshape(x.shape[0], rows * columns, 4 * channels)
    if self.norm is not None:
        x = self.norm(x)
    return self.reduction(x), (rows, columns)


def padded_to_patches(_original: Callable[..., Any], self: Any, x: Tensor) -> Any:
    """AdaptivePadding.forward, of patches that neither overlap nor leave a gap, below and on the right."""
    if has_fixed_size() or self.kernel_size != self.stride or self.padding != "corner":
        return NotImplemented
    (rows, columns), (height, width) = self.stride, x.shape[-2:]
    return F.pad(x, (0, shortage(width, columns), 0, shortage(height, rows)))


def declare_swin(backbones: ModuleType, layers: ModuleType, written_for: str) -> None:
    """Declare the rewriters of a library: of its module with the backbone, and of that with layers of patches."""
    batch = "computes the batch size as a plain number: a graph of another batch is silently wrong"
    rewrites(backbones.ShiftWindowMSA, "forward", reason=batch, written_for=written_for)(attention_in_windows)
    rewrites(layers.PatchMerging, "forward", reason=PADDING, written_for=written_for)(merged_places)
    rewrites(layers.AdaptivePadding, "forward", reason=PADDING, written_for=written_for)(padded_to_patches)
