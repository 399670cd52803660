"""Necks: what makes the heads' feature maps of the backbone's; parameter names as in mmseg."""

from zoo.models.segmentation.necks.fpn import FPN
from zoo.models.segmentation.necks.ic_neck import ICNeck
from zoo.models.segmentation.necks.jpu import JPU
from zoo.models.segmentation.necks.mla_neck import MLANeck
from zoo.models.segmentation.necks.multi_level_neck import MultiLevelNeck

__all__ = ["FPN", "JPU", "ICNeck", "MLANeck", "MultiLevelNeck"]
