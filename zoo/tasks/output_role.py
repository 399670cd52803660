"""What an output of a graph is to its task, as far as a comparison of two machines must know."""

from collections.abc import Mapping
from enum import StrEnum

from zoo.geometry.box_form import BoxForm
from zoo.geometry.boxes3d import BOXES_3D
from zoo.geometry.rotated_boxes import ROTATED
from zoo.geometry.upright_boxes import UPRIGHT


class OutputRole(StrEnum):
    """An output without a role is a tensor whose values keep their places.

    With COUNT the outputs are objects in padded slots, compared as sets. With boxes and no COUNT they are candidates,
    whose order rounding may change, and so are all other outputs beside them.
    """

    COUNT = "count"
    """int64 [N]: how many slots are in use, the first ones."""
    BOXES = "boxes"
    """float32 [N, K, 4], x1 y1 x2 y2 in pixels."""
    ROTATED_BOXES = "rotated_boxes"
    """float32 [N, K, 5], x y w h in pixels, angle in radians."""
    BOXES_3D = "boxes_3d"
    """float32 [N, K, 7], x y z length width height in metres, yaw in radians."""
    SCORES = "scores"
    """float32 [N, K, ...]: 0 where nothing is found."""
    LABELS = "labels"
    """int64 [N, K]."""
    MASKS = "masks"
    """float32 [N, K, h, w]: probabilities."""
    IMAGE_MASKS = "image_masks"
    """uint8 [N, K, H, W], 0 or 1."""
    KEYPOINTS = "keypoints"
    """float32 [N, K, P, 3]: x, y in pixels, and the value there."""
    LABEL_MAP = "label_map"
    """[N, H, W]: the class of each pixel."""
    ROW = "row"
    """[N, P, ...]: rows whose order may change, that of all such outputs alike."""


BOX_FORMS: Mapping[OutputRole, BoxForm] = {
    OutputRole.BOXES: UPRIGHT,
    OutputRole.ROTATED_BOXES: ROTATED,
    OutputRole.BOXES_3D: BOXES_3D,
}
"""The roles of boxes, and how each is compared."""

Roles = Mapping[str, OutputRole]
"""By the name of an output."""
