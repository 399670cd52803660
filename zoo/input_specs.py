"""The tensors that a graph takes, by the contract (torch-free)."""

from zoo.tensor_spec import TensorSpec

IMAGES = TensorSpec("images", "float32", ("batch", 3, "height", "width"))
IMAGE_SIZES = TensorSpec("image_sizes", "int64", ("batch", 2))
"""(h, w), the valid region of each image of a padded batch, from the top left; where the target asks for it."""

SCORE_THRESHOLD = TensorSpec("score_threshold", "float32", (1,))
IOU_THRESHOLD = TensorSpec("iou_threshold", "float32", (1,))
"""Of a detector, where the target asks for thresholds; both have defaults, and may be left out."""

SCALE = TensorSpec("scale", "int64", (1,))
"""How many times to enlarge, of super-resolution at any scale; has a default, and may be left out of a deployment's."""

SETTINGS = frozenset(spec.name for spec in (SCORE_THRESHOLD, IOU_THRESHOLD, SCALE))
"""Inputs of one element, for the whole batch."""
