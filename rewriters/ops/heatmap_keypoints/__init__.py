"""zooport::heatmap_keypoints, the best place of each heatmap of an object, at the resolution of the object's box."""

from rewriters.ops.heatmap_keypoints import registration
from rewriters.ops.heatmap_keypoints.torch_operator import heatmap_keypoints

__all__ = ["heatmap_keypoints", "registration"]
