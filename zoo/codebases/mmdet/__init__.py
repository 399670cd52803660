"""mmdetection: its configs become configs of MmdetDetector, which is mmdetection's own model."""

from zoo.codebases.mmdet.codebase import Mmdet

__all__ = ["Mmdet"]
