"""The threshold of torchvision's nms, for graphs that compare in float32."""

import numpy as np


def float32_threshold(threshold: float) -> np.float32:
    """The largest float32 <= threshold: a float32 overlap is above one exactly if it is above the other.

    torchvision compares float32 overlaps with the threshold in double precision (0.3 lies below its nearest float32).
    """
    nearest = np.float32(threshold)
    return nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf))
