"""zooport::class_nms_keep, which boxes survive non-maximum suppression among those of their class, as a mask."""

from rewriters.ops.class_nms_keep import registration
from rewriters.ops.class_nms_keep.torch_operator import class_nms_keep

__all__ = ["class_nms_keep", "registration"]
