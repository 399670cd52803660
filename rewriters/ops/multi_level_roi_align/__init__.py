"""zooport::multi_level_roi_align, RoIAlign of each box from the pyramid level that is its own."""

from rewriters.ops.multi_level_roi_align import registration
from rewriters.ops.multi_level_roi_align.torch_operator import multi_level_roi_align

__all__ = ["multi_level_roi_align", "registration"]
