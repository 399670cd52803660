"""The forward methods of torchvision's detectors: the batch is one entry, not a list of images."""

from collections.abc import Callable
from typing import Any

from torchvision.models.detection import FCOS, RetinaNet
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from rewriters.torchvision_detection.whole_batch import as_whole_batch

LOOPS = "loops over the images, which freezes the batch size: torchscript writes one input for each image"


def forward_batch(original: Callable[..., Any], self: Any, images: Any, targets: Any = None, **options: Any) -> Any:
    """images float32 [N, 3, H, W] -> [{"boxes" [N, K, 4], "scores" [N, K], "labels" [N, K]}], padded.

    A list of images is torchvision's to handle.
    """
    batch = as_whole_batch(images, targets)
    return NotImplemented if batch is None else original(self, batch, **options)


for detector in (GeneralizedRCNN, RetinaNet, FCOS):
    rewrites(detector, "forward", reason=LOOPS, written_for=WRITTEN_FOR)(forward_batch)
