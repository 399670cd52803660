"""mmsegmentation's Swin Transformer."""

from mmseg.models.backbones import swin
from mmseg.models.utils import embed

from rewriters.mmsegmentation.versions import WRITTEN_FOR
from rewriters.openmmlab import declare_swin

declare_swin(swin, embed, WRITTEN_FOR)
