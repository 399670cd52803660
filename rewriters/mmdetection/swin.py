"""mmdetection's Swin Transformer."""

from mmdet.models.backbones import swin
from mmdet.models.layers.transformer import utils

from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.openmmlab import declare_swin

declare_swin(swin, utils, WRITTEN_FOR)
