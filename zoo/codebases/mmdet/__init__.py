"""mmdetection: its configs become configs of mmdetection's own models."""

from zoo.codebases.mmdet.codebase import Mmdet

__all__ = ["Mmdet"]
