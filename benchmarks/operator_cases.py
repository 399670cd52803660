"""The operators of the operator table: for each, calls of it on random tensors, as a model would make them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
import torchvision.ops
from torch import Tensor, nn

Make = Callable[[], Sequence[Tensor]]
Compute = Callable[..., Any]


class Call(nn.Module):
    """A module that makes one call, and gives a tuple."""

    def __init__(self, compute: Compute) -> None:
        super().__init__()
        self.compute = compute

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Tensors -> what the call gives."""
        result = self.compute(*tensors)
        return result if isinstance(result, tuple) else (result,)


def sample_image(*shape: int) -> Make:
    """One standard normal tensor."""
    return lambda: (torch.randn(shape),)


def between(low: float, high: float) -> Make:
    """One tensor of numbers in a range."""
    return lambda: (torch.rand(3, 17) * (high - low) + low,)


def distinct(*shape: int) -> Make:
    """Few values, so that a sort meets many ties."""
    return lambda: (torch.randint(0, 5, shape).float(),)


def sampled(*sizes: int) -> Make:
    """A map [2, 3, *sizes] and a grid that reaches beyond its edges."""
    return lambda: (
        torch.randn(2, 3, *sizes),
        torch.rand(2, *(s - 1 for s in sizes), len(sizes)) * 3 - 1.5,
    )


def regions(channels: int = 4, count: int = 6) -> Make:
    """Feature maps and boxes [R, 5], some of which leave the map."""

    def make() -> tuple[Tensor, Tensor]:
        corner, side = torch.rand(count, 2) * 30 - 4, torch.rand(count, 2) * 30 + 0.5
        image = torch.randint(0, 2, (count, 1)).float()
        return torch.randn(2, channels, 16, 20), torch.cat((image, corner, corner + side), 1)

    return make


def deformed(groups: int, offset_groups: int, *, mask: bool) -> Make:
    """Input, offset, weight, bias and mask of a 3x3 convolution."""

    def make() -> tuple[Tensor, ...]:
        x, weight = torch.randn(2, 4, 11, 13), torch.randn(6, 4 // groups, 3, 3)
        offset, bias = torch.randn(2, offset_groups * 18, 11, 13) * 2, torch.randn(6)
        return (x, offset, weight, bias, *([torch.rand(2, offset_groups * 9, 11, 13)] if mask else []))

    return make


def with_its_flip(compute: Compute) -> Compute:
    """A function of two tensors, given one and its mirror image."""
    return lambda x: compute(x, x.flip(1))


ELEMENTWISE: Mapping[str, tuple[Compute, Make]] = {
    **{
        name: (getattr(torch, name), between(low, high))
        for name, low, high in (
            ("asinh", -20, 20), ("acosh", 1, 20), ("atanh", -0.99, 0.99), ("sinh", -4, 4), ("cosh", -4, 4),
            ("tan", -1, 1), ("acos", -1, 1), ("expm1", -2, 2), ("log1p", -0.9, 9), ("log2", 0.1, 9), ("log10", 0.1, 9),
            ("exp2", -3, 3), ("erf", -3, 3), ("erfc", -3, 3), ("erfinv", -0.99, 0.99), ("lgamma", 0.1, 9),
            ("digamma", 0.1, 9), ("sinc", -3, 3), ("sgn", -2, 2), ("frac", -3, 3), ("trunc", -3, 3), ("round", -3, 3),
            ("rad2deg", -3, 3), ("deg2rad", -90, 90), ("square", -3, 3), ("rsqrt", 0.1, 9), ("signbit", -2, 2),
            ("nan_to_num", -2, 2), ("i0", -3, 3), ("logit", 0.01, 0.99), ("positive", -2, 2), ("isfinite", -2, 2),
        )
    },
    **{
        name: (with_its_flip(getattr(torch, name)), between(0.1, 3))
        for name in (
            "atan2", "hypot", "logaddexp", "logaddexp2", "copysign", "fmod", "remainder", "xlogy", "fmax", "fmin",
            "floor_divide", "maximum", "heaviside", "float_power", "nextafter", "ldexp",
        )
    },
    **{
        name: (getattr(F, name), between(-5, 5))
        for name in ("mish", "silu", "hardswish", "softsign", "logsigmoid", "celu", "selu", "tanhshrink", "hardshrink",
                     "softshrink", "relu6", "hardsigmoid")
    },
}  # fmt: skip

STRUCTURED: Mapping[str, tuple[Compute, Make]] = {
    "deform_conv2d": (
        lambda x, o, w, b: torchvision.ops.deform_conv2d(x, o, w, b, padding=1), deformed(1, 1, mask=False),
    ),
    "deform_conv2d, groups, mask": (
        lambda x, o, w, b, m: torchvision.ops.deform_conv2d(x, o, w, b, padding=1, mask=m),
        deformed(2, 2, mask=True),
    ),
    "deform_conv2d, no bias": (
        lambda x, o, w: torchvision.ops.deform_conv2d(x, o, w, padding=1),
        lambda: deformed(2, 1, mask=False)()[:3],
    ),
    **{
        f"roi_align, sampling {s}, aligned {a}": (
            lambda x, r, s=s, a=a: torchvision.ops.roi_align(x, r, (3, 5), 0.5, s, a), regions(),
        )
        for s in (0, 2) for a in (False, True)
    },
    "roi_pool": (lambda x, r: torchvision.ops.roi_pool(x, r, (3, 4), 0.5), regions()),
    "ps_roi_align": (lambda x, r: torchvision.ops.ps_roi_align(x, r, 2, 0.5, 2), regions(8)),
    "ps_roi_align, sampling 0": (lambda x, r: torchvision.ops.ps_roi_align(x, r, 2, 0.5), regions(8)),
    "ps_roi_pool": (lambda x, r: torchvision.ops.ps_roi_pool(x, r, 2, 0.5), regions(8)),
    **{
        f"grid_sample {len(s)}D, {mode}, {padding}, corners {c}": (
            lambda x, g, mode=mode, padding=padding, c=c: F.grid_sample(x, g, mode, padding, c), sampled(*s),
        )
        for s, mode, padding, c in (
            ((9, 11), "bilinear", "zeros", False), ((9, 11), "bilinear", "border", True),
            ((9, 11), "nearest", "reflection", False), ((9, 11), "bicubic", "zeros", False),
            ((9, 11), "bicubic", "border", True), ((9, 11), "bicubic", "reflection", False),
            ((5, 6, 7), "bilinear", "zeros", False), ((5, 6, 7), "bilinear", "reflection", True),
            ((5, 6, 7), "nearest", "border", False),
        )
    },
    "affine_grid": (lambda t: F.affine_grid(t, [2, 3, 5, 6], align_corners=False), sample_image(2, 2, 3)),
    "sort": (lambda x: torch.sort(x, dim=1)[0], sample_image(3, 50)),
    "sort, stable": (lambda x: tuple(torch.sort(x, dim=1, stable=True)), distinct(3, 200)),
    "sort, stable, descending": (lambda x: tuple(torch.sort(x, dim=0, descending=True, stable=True)), distinct(200, 3)),
    "argsort, stable": (lambda x: torch.argsort(x, dim=1, stable=True), distinct(3, 200)),
    "msort": (torch.msort, sample_image(20, 3)),
    "cdist": (torch.cdist, lambda: (torch.randn(2, 7, 5), torch.randn(2, 9, 5))),
    "cdist, p 1": (lambda x, y: torch.cdist(x, y, p=1.0), lambda: (torch.randn(7, 5), torch.randn(9, 5))),
    "cdist, p 3": (lambda x, y: torch.cdist(x, y, p=3.0), lambda: (torch.randn(7, 5), torch.randn(9, 5))),
    "cdist, p inf": (lambda x, y: torch.cdist(x, y, p=float("inf")), lambda: (torch.randn(7, 5), torch.randn(9, 5))),
    "cdist, p 2, many": (torch.cdist, lambda: (torch.randn(30, 5), torch.randn(40, 5))),
    "roll": (lambda x: torch.roll(x, (2, -3), (2, 3)), sample_image(2, 3, 7, 8)),
    "roll, flat": (lambda x: torch.roll(x, 5), sample_image(2, 3, 7)),
    "unfold": (lambda x: F.unfold(x, (3, 2), padding=1, stride=2), sample_image(2, 3, 9, 10)),
    "unfold, dilated": (lambda x: F.unfold(x, 3, dilation=2), sample_image(2, 3, 9, 10)),
    "fold": (lambda x: F.fold(x, (6, 7), (3, 2), padding=1, stride=1), sample_image(2, 18, 48)),
    "fold, stride": (lambda x: F.fold(x, (8, 8), 3, dilation=2, stride=2, padding=1), sample_image(2, 18, 9)),
    "Tensor.unfold": (lambda x: x.unfold(2, 3, 2), sample_image(2, 3, 9)),
    **{
        f"resize {mode}, {kind}, corners {c}": (
            lambda x, mode=mode, how=how, c=c: F.interpolate(x, mode=mode, align_corners=c, **how),
            sample_image(2, 3, 11, 13),
        )
        for mode in ("bilinear", "bicubic") for c in (False, True)
        for kind, how in (("size", {"size": (17, 8)}), ("scale", {"scale_factor": 1.7}))
    },
    **{
        f"resize {mode}, antialiased": (
            lambda x, mode=mode: F.interpolate(x, (5, 21), mode=mode, antialias=True), sample_image(2, 3, 11, 13),
        )
        for mode in ("bilinear", "bicubic")
    },
    "resize nearest-exact": (lambda x: F.interpolate(x, (5, 21), mode="nearest-exact"), sample_image(2, 3, 11, 13)),
    "resize trilinear": (lambda x: F.interpolate(x, (5, 6, 9), mode="trilinear"), sample_image(1, 2, 4, 7, 5)),
    "resize area": (lambda x: F.interpolate(x, (4, 5), mode="area"), sample_image(1, 2, 8, 10)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), sample_image(1, 8, 3, 4)),
    "cummax": (lambda x: torch.cummax(x, 1)[0], sample_image(3, 9)),
    "searchsorted": (torch.searchsorted, lambda: (torch.sort(torch.randn(9))[0], torch.randn(5))),
    "bucketize": (lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), sample_image(3, 4)),
    "cross": (torch.linalg.cross, lambda: (torch.randn(4, 3), torch.randn(4, 3))),
    "rot90": (lambda x: torch.rot90(x, 1, (2, 3)), sample_image(1, 2, 3, 4)),
    "median": (lambda x: torch.median(x, 1)[0], sample_image(3, 9)),
    "kthvalue": (lambda x: torch.kthvalue(x, 3, 1)[0], sample_image(3, 9)),
    "quantile": (lambda x: torch.quantile(x, 0.3, 1), sample_image(3, 9)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), sample_image(1, 6, 4, 5)),
}  # fmt: skip

CASES: Mapping[str, tuple[Compute, Make]] = {**STRUCTURED, **ELEMENTWISE}
