"""Resizing with antialiasing as two products with matrices, as torch computes it.

    y = R x C^T,    R[i, j] = f((j + 1/2 - c_i) / max(s, 1)) / (the sum over j),    c_i = s (i + 1/2)

for s elements of the input to one of the output, and the filter f: a triangle (bilinear) or Keys's cubic with a = -1/2
(bicubic). C in the same way. For a dynamic size the matrices are computed in the graph.

Against torch in float64 the result is right to 1e-7 of the values. torch's own float32 weights are less exact: to 2e-5
for sides of up to 1000 elements, 6e-5 for 4000. To one column torch 2.15 itself is wrong: all rows become the first.

Source: torch's UpSampleKernel.cpp, _compute_indices_min_size_weights_aa.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rewriters.patching.constants import as_ints, untraced
from rewriters.patching.fixed_size import has_fixed_size

KEYS = -0.5  # Pillow's; without antialiasing torch takes -0.75


def antialiased(
    x: Tensor, size: Any, scale_factor: Any, mode: str, *, align_corners: bool, recompute_scale_factor: bool
) -> Tensor:
    """[N, C, H, W] resized; arguments as torch.nn.functional.interpolate takes them."""
    sizes = _pair(size) if size is not None else (None, None)
    scales = _pair(scale_factor) if scale_factor is not None else (None, None)
    rows, columns = (
        _matrix(x.shape[axis], out, scale, mode, align_corners, recompute_scale_factor)
        for axis, out, scale in zip((2, 3), sizes, scales, strict=True)
    )
    return rows.to(x.dtype) @ (x @ columns.to(x.dtype).transpose(0, 1))


def _pair(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value, value)


def _matrix(size: Any, out: Any, scale: float | None, mode: str, align_corners: bool, recompute: bool) -> Tensor:
    """As resize_matrix; a constant where the images' size is fixed."""

    def computed(size: Any, out: Any) -> Tensor:
        if scale is not None:
            out = (size.double() * scale).floor().long() if isinstance(size, Tensor) else math.floor(size * scale)
        return resize_matrix(size, out, mode, align_corners=align_corners, scale=None if recompute else scale)

    if not has_fixed_size():
        return computed(size, out)
    fixed, fixed_out = as_ints([size])[0], None if out is None else as_ints([out])[0]
    return untraced(lambda: computed(fixed, fixed_out))


def resize_matrix(size: Any, out: Any, mode: str, *, align_corners: bool, scale: float | None = None) -> Tensor:
    """float32 [out, size]: how much each element of an axis adds to each of the resized one. Sizes may be traced.

    `mode`: "bilinear" or "bicubic". `scale`: of the output to the input, where the caller gave it instead of a size.
    """
    before, after = _tensor(size), _tensor(out)
    if align_corners:  # whatever the scale; torch moves no centre to the corner, and of one element takes the first
        step = (before - 1) / (after - 1).clamp(min=1) * (after > 1).double()
    elif scale is not None:
        step = torch.tensor(1 / scale, dtype=torch.float64)
    else:
        step = before / after
    centers = step * (torch.arange(out).double() + 0.5)
    distance = ((torch.arange(size).double() + 0.5)[None] - centers[:, None]) / step.clamp(min=1)
    weights = FILTERS[mode](distance.abs())
    return (weights / weights.sum(dim=1, keepdim=True)).float()


def _tensor(size: Any) -> Tensor:
    """A size as a float64 scalar; torchscript traces sizes as tensors, torch.export as symbols that a cast freezes."""
    return size.double() if isinstance(size, Tensor) else torch.ones((), dtype=torch.float64) * size


def _triangle(x: Tensor) -> Tensor:
    return (1 - x).clamp(min=0)


def _cubic(x: Tensor) -> Tensor:
    near = ((KEYS + 2) * x - (KEYS + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * KEYS
    return torch.where(x < 1, near, far) * (x < 2).double()  # noqa: PLR2004  # where the filter ends


FILTERS = {"bilinear": _triangle, "bicubic": _cubic}
