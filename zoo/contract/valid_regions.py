"""The images of a padded batch without their padding."""

from torch import Tensor


def valid_regions(images: Tensor, image_sizes: Tensor) -> list[Tensor]:
    """images [N, 3, H, W], image_sizes int64 [N, 2] (h, w) -> N images [3, h, w], from the top left.

    What torchvision's detectors take for images of different sizes. Inside an export a rewriter gives the batch as it
    is, with its sizes.
    """
    return [image[:, :height, :width] for image, (height, width) in zip(images, image_sizes.tolist(), strict=True)]
