"""zooport::nms_keep, which boxes survive greedy non-maximum suppression, as a mask of fixed shape."""

from rewriters.ops.nms_keep import registration
from rewriters.ops.nms_keep.torch_operator import nms_keep

__all__ = ["nms_keep", "registration"]
