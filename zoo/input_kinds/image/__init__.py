"""Images: bytes in BGR of any size. What the reference makes of them is loaded where something is proved."""

from zoo.input_kinds.image.kind import ImageKind

__all__ = ["ImageKind"]
