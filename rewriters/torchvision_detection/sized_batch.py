"""A padded batch with the size of each of its images, as the only entry of torchvision's list of images."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

import zoo.contract.valid_regions
from rewriters.patching.rewriter import rewrites


class SizedBatch(NamedTuple):
    """`tensors` float32 [N, 3, H, W]; `image_sizes` int64 [N, 2]: (h, w), where each image ends."""

    tensors: Tensor
    image_sizes: Tensor

    @property
    def shape(self) -> tuple[Any, ...]:
        """As of a batch, with a height and a width for each image: torchvision's forward methods read it so."""
        return (*self.tensors.shape[:2], *self.image_sizes.unbind(-1))

    def valid_pixels(self) -> Tensor:
        """The tensors, with zeros where no image is, whatever lies there."""
        ends = self.image_sizes[:, :, None, None]
        rows = torch.arange(self.tensors.shape[2])[:, None] < ends[:, :1]
        columns = torch.arange(self.tensors.shape[3]) < ends[:, 1:]
        return torch.where(rows & columns, self.tensors, 0.0)


@rewrites(
    zoo.contract.valid_regions,
    "valid_regions",
    reason="cuts images of different sizes out of the batch, which freezes the batch size and the sizes",
    written_for="zooport 0.1",
)
def valid_regions_as_batch(original: Any, images: Tensor, image_sizes: Tensor) -> SizedBatch:
    """The batch as it is, with its sizes."""
    return SizedBatch(images, image_sizes)
