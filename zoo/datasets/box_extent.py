"""Whether a box lies in its image."""

from collections.abc import Sequence

TOLERANCE = 1.0  # pixels: annotators round


def outside(box: Sequence[float], size: tuple[int, int]) -> str | None:
    """Words for a box x1 y1 x2 y2 that leaves its image of `size` (height, width) by more than a pixel, or None.

    Coordinates are edges: 0 is the left edge of the first pixel, the width the right edge of the last.
    """
    height, width = size
    excess = max(-box[0], -box[1], box[2] - width, box[3] - height)
    return f"reaches {excess:g} px outside its image of {width}x{height}" if excess > TOLERANCE else None
