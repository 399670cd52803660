"""torchvision's resize of images of different sizes, as one batch: each by its own scale, then padded with zeros.

    source = max((place + 0.5) * have / want - 0.5, 0)            for each row, then for each column
    value  = image[floor(source)] * (1 - weight) + image[floor(source) + 1] * weight,   weight = source - floor(source)

what bilinear torch.nn.functional.interpolate computes, with sizes `have` and `want` for each image. The batch becomes
as large as its largest resized image, in whole blocks of size_divisible pixels, as torchvision's own batch does.
"""

import torch
from torch import Tensor
from torchvision.models.detection.transform import GeneralizedRCNNTransform

from rewriters.torchvision_detection.image_size import ImageSize
from rewriters.torchvision_detection.run_time_resize import blocks, resized_sizes
from rewriters.torchvision_detection.sized_batch import SizedBatch


def resize_each(transform: GeneralizedRCNNTransform, given: SizedBatch) -> tuple[Tensor, ImageSize]:
    """-> the normalised batch [N, 3, H', W'], zero outside the images, and the sizes of the resized images."""
    batch, sizes = transform.normalize(given.tensors), given.image_sizes
    resized = resized_sizes(transform, sizes).clamp(min=1)  # torchvision refuses an image that comes out with no pixel
    divisor = transform.size_divisible
    if transform.fixed_size is not None:
        image_size: ImageSize = (transform.fixed_size[1], transform.fixed_size[0])
        height, width = (side + -side % divisor for side in image_size)
    else:
        image_size = resized
        height, width = (count * divisor for count in blocks(transform, resized.amax(dim=0)))
    for dim, length in ((2, height), (3, width)):
        batch = _resampled(batch, sizes[:, dim - 2], resized[:, dim - 2], length, dim)
    return batch, image_size


def _resampled(batch: Tensor, have: Tensor, want: Tensor, length: int, dim: int) -> Tensor:
    """Axis `dim` of batch [N, 3, H, W]: the first have[n] elements become the first want[n] of `length`, then zeros."""
    place = torch.arange(length, device=batch.device)[None]  # [1, L]
    have, want = have[:, None], want[:, None]  # [N, 1]
    source = ((place.to(batch.dtype) + 0.5) * (have.to(batch.dtype) / want.to(batch.dtype)) - 0.5).clamp(min=0)
    lower = torch.minimum(source.to(torch.int64), have - 1)
    upper = torch.minimum(lower + 1, have - 1)
    weight = _along(dim, (source - lower).clamp(min=0, max=1))
    mixed = _taken(batch, lower, dim) * (1 - weight) + _taken(batch, upper, dim) * weight
    return torch.where(_along(dim, place < want), mixed, torch.zeros_like(mixed))


def _taken(batch: Tensor, index: Tensor, dim: int) -> Tensor:
    """batch [N, C, H, W], index int64 [N, L] along `dim` -> that axis with L elements, each image's own."""
    sizes = [-1, *batch.shape[1:]]
    sizes[dim] = -1
    return batch.gather(dim, _along(dim, index).expand(sizes))


def _along(dim: int, values: Tensor) -> Tensor:
    """[N, L] as [N, 1, L, 1] or [N, 1, 1, L]: along the rows (dim 2) or the columns (dim 3) of a batch."""
    return values.unsqueeze(1).unsqueeze(5 - dim)
