"""torchvision's resize and padding at sizes that only the running graph knows.

    scale   = min(min_size / min(h, w), max_size / max(h, w))
    resized = floor((h, w) * scale)

in float64, as torchvision computes it in Python: with m = 800 a side of 97 pixels becomes 799, and in float32 or whole
numbers 800, which would shift every box. The padded size is a whole number of blocks of `size_divisible` pixels;
dynamo then knows that each level of a pyramid is half of the one before.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.models.detection.transform import GeneralizedRCNNTransform

from zoo.contract.given_frame import size_tensor


def resize_at_run_time(transform: GeneralizedRCNNTransform, batch: Tensor) -> tuple[Tensor, Tensor]:
    """batch [N, 3, H, W] -> resized and padded [N, 3, H', W'], and the size of the resized image, int64 [1, 2]."""
    resized = resized_sizes(transform, size_tensor(*batch.shape[-2:]))
    (height, width), (down, across) = as_lengths(resized[0]), blocks(transform, resized[0])
    divisor = transform.size_divisible
    for side, count in ((height, down), (width, across)):
        if not isinstance(side, Tensor):
            torch._check(divisor * count >= side)  # noqa: SLF001  # torch's documented hint for such sizes
    batch = F.interpolate(batch, size=(height, width), mode="bilinear", align_corners=False)
    return F.pad(batch, (0, divisor * across - width, 0, divisor * down - height)), resized


def resized_sizes(transform: GeneralizedRCNNTransform, sizes: Tensor) -> Tensor:
    """Sizes (h, w) int64 [B, 2] of images -> of the resized images, int64 [B, 2]."""
    if transform.fixed_size is not None:
        width, height = transform.fixed_size  # torchvision's order
        return torch.tensor([[height, width]]).expand_as(sizes)
    sides = sizes.to(torch.float64)
    shorter, longer = sides.amin(dim=1, keepdim=True), sides.amax(dim=1, keepdim=True)
    # as tensors: torch makes a number / tensor of a reciprocal and a product, which round twice
    least, most = (
        torch.tensor(float(side), dtype=torch.float64) for side in (transform.min_size[-1], transform.max_size)
    )
    scale = torch.minimum(least / shorter, most / longer)
    return (sides * scale).floor().to(torch.int64)


def blocks(transform: GeneralizedRCNNTransform, size: Tensor) -> tuple[Any, Any]:
    """The least number of blocks of size_divisible pixels that hold (h, w) int64 [2], down and across."""
    divisor = transform.size_divisible
    most = -(-int(transform.max_size) // divisor)
    counts = as_lengths(torch.div(size + (divisor - 1), divisor, rounding_mode="floor"))
    for count in counts:
        if not isinstance(count, Tensor):
            torch._check(count <= most)  # noqa: SLF001  # no resized side is longer than max_size
    return counts


def as_lengths(sizes: Tensor) -> tuple[Any, Any]:
    """int64 [2] as two lengths that torch functions take, followed by the tracer.

    torchscript follows tensors and would freeze a number; dynamo makes a symbolic number of `item()`.
    """
    if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        return sizes[0], sizes[1]
    lengths = sizes[0].item(), sizes[1].item()
    for length in lengths:
        torch._check(length >= 1)  # noqa: SLF001
    return lengths
