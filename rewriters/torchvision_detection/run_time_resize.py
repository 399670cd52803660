"""torchvision's resize and padding at sizes that only the running graph knows: of the batch, or of each image.

    scale   = min(min_size / min(h, w), max_size / max(h, w))
    resized = floor((h, w) * scale)

in float64, as torchvision computes it in Python: with m = 800 a side of 97 pixels becomes 799, and in float32 or whole
numbers 800, which would shift every box. The padded size is a whole number of blocks of `size_divisible` pixels;
dynamo then knows that each level of a pyramid is half of the one before.

Bilinear resizing is linear in rows and in columns, so it is two products with matrices of weights, which are zeros
where the padding is. ONNX's Resize has one size for the batch, and ONNX Runtime rounds places otherwise than torch: it
is 8e-5 away at 800x1199 pixels, of values from 0 to 1, where the products are 1e-7 away, or 3e-5 where torch runs on
one thread and takes another kernel. Faster R-CNN R50 v2 makes 8e-4 of score of such a difference.
"""

from typing import Any

import torch
from torch import Tensor
from torchvision.models.detection.transform import GeneralizedRCNNTransform

from rewriters.torchvision_detection.image_size import ImageSize


def resize_at_run_time(transform: GeneralizedRCNNTransform, batch: Tensor, sizes: Tensor) -> tuple[Tensor, ImageSize]:
    """batch [N, 3, H, W] -> resized and padded [N, 3, H', W'], and the size of the resized images.

    `sizes` (h, w) int64 [1, 2] of every image, or [N, 2] of each: what is filled of the tensor, from the top left. The
    batch becomes as large as its largest resized image, in whole blocks, as torchvision's own batch does.
    """
    resized = resized_sizes(transform, sizes).clamp(min=1)  # torchvision refuses an image that comes out with no pixel
    height, width = _padded(transform, resized)
    rows = _weights(sizes[:, 0], resized[:, 0], batch.shape[2], height)
    columns = _weights(sizes[:, 1], resized[:, 1], batch.shape[3], width)
    batch = rows.unsqueeze(1) @ (batch @ columns.unsqueeze(1).transpose(2, 3))
    fixed = transform.fixed_size
    return batch, resized if fixed is None else (fixed[1], fixed[0])


def _weights(have: Tensor, want: Tensor, pixels: Any, places: Any) -> Tensor:
    """How much each of `pixels` of an axis counts for each of `places` of the resized one: float32 [B, places, pixels].

    The first have[b] pixels become the first want[b] places, the others are zeros: as bilinear
    torch.nn.functional.interpolate computes it, in its order of operations.
    """
    have, want = have[:, None], want[:, None]
    place = torch.arange(places)[None]
    source = (place.to(torch.float32) + 0.5) * (have.to(torch.float32) / want.to(torch.float32)) - 0.5
    source = torch.minimum(source.clamp(min=0), (have - 1).to(torch.float32))
    weights = (1 - (source.unsqueeze(2) - torch.arange(pixels).to(torch.float32)).abs()).clamp(min=0)
    return weights * (place < want).unsqueeze(2)


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


def _padded(transform: GeneralizedRCNNTransform, resized: Tensor) -> tuple[Any, Any]:
    """(height, width) of the batch: the least whole blocks of size_divisible pixels that hold all of int64 [B, 2]."""
    divisor = transform.size_divisible
    if transform.fixed_size is not None:
        width, height = transform.fixed_size
        return height + -height % divisor, width + -width % divisor
    most = -(-int(transform.max_size) // divisor)
    counts = _as_lengths(torch.div(resized.amax(dim=0) + (divisor - 1), divisor, rounding_mode="floor"))
    for count in counts:
        if not isinstance(count, Tensor):
            torch._check(count <= most)  # noqa: SLF001  # no resized side is longer than max_size
    return counts[0] * divisor, counts[1] * divisor


def _as_lengths(sizes: Tensor) -> tuple[Any, Any]:
    """int64 [2] as two lengths that torch functions take, followed by the tracer.

    torchscript follows tensors and would freeze a number; dynamo makes a symbolic number of `item()`.
    """
    if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        return sizes[0], sizes[1]
    lengths = sizes[0].item(), sizes[1].item()
    for length in lengths:
        torch._check(length >= 1)  # noqa: SLF001
    return lengths
