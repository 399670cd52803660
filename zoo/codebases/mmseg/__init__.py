"""mmsegmentation: its segmentors as zooport's own, without the library, where all parts of a config are known."""

from zoo.codebases.mmseg.codebase import Mmseg

__all__ = ["Mmseg"]
