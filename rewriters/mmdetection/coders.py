"""mmdetection's box coders for the rows of a padded batch."""

from typing import Any

from mmdet.models.task_modules.coders import DeltaXYWHBBoxCoder, DistancePointBBoxCoder, TBLRBBoxCoder
from mmdet.structures.bbox import get_box_tensor
from torch import Tensor

from rewriters.patching.constants import as_ints
from rewriters.torchvision_detection.image_size import ImageSize, clip_boxes
from zoo.errors import ExportError

CODERS = (DeltaXYWHBBoxCoder, DistancePointBBoxCoder, TBLRBBoxCoder)
"""Those that clip boxes to the image as the last step, if their clip_border is set."""


def decoded(coder: Any, priors: Tensor, codes: Tensor, image_size: ImageSize) -> Tensor:
    """Priors [N, ..., P] and codes [N, ..., 4] -> boxes [N, ..., 4], x1 y1 x2 y2 in pixels.

    Raises ExportError for a coder that is not known here.
    """
    if type(coder) not in CODERS:
        known = ", ".join(kind.__name__ for kind in CODERS)
        raise ExportError(f"box coder {type(coder).__name__}: zooport exports detectors with {known}")
    boxes: Tensor = get_box_tensor(coder.decode(priors.reshape(-1, priors.shape[-1]), codes.reshape(-1, 4)))
    boxes = boxes.reshape(-1, *as_ints(codes.shape[1:]))
    return clip_boxes(boxes, image_size) if coder.clip_border else boxes
