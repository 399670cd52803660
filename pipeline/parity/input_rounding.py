"""What the rounding of an input does to a model itself: the measure for whatever differs end to end.

Production resizes bytes, the reference floats, so their tensors differ by rounding. How much a model makes of that is
its own matter: a trained FCN relabels 0.02 % of an image, an untrained U-Net 3 %. So PyTorch runs on two more tensors,
which are the reference's own with another rounding each, and what changes there is no fault of a deployment:
1. every value rounded to whole grey levels, as production's are;
2. every value moved by its measured difference to production's, at most half a grey level, with a sign by chance.
A wrong resize, padding or colour order is systematic: its differences have the sign of their place, and neither of the
two explains what they do.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensor = NDArray[np.float32]

GREY_LEVELS = 255.0  # in the tensor's 0..1
MOST = 0.5 / GREY_LEVELS  # rounding to whole grey levels moves no value further
# Of an image's pixels, by how much the rounding changes the difference of two logits. Not the largest: beside the edge
# of an object single pixels change a hundred times as much as the others.
QUANTILE = 0.99


def rounded_inputs(own: Tensor, production: Tensor) -> tuple[Tensor, ...]:
    """Two more tensors [3, H, W] from the reference's ``own`` and that of ``production``, of one shape."""
    levels = np.round(own * GREY_LEVELS) / np.float32(GREY_LEVELS)
    signs = np.random.default_rng(0).choice(np.array((-1, 1), np.float32), size=own.shape)
    moved = own + signs * np.minimum(np.abs(production - own), np.float32(MOST))
    return levels.astype(np.float32), moved.astype(np.float32)


def explained_margin(own: NDArray[Any], rounded: NDArray[Any]) -> float:
    """The margin below which the rounding of the input may change the label of a pixel.

    ``own``, ``rounded``: logits [C, H, W] of the reference's own tensor and of a rounded one. What all but one in a
    hundred pixels keep: the change of the difference of any two logits.
    """
    change = rounded.astype(np.float64) - own
    spread = change.max(axis=0) - change.min(axis=0)
    return float(np.quantile(spread, QUANTILE)) if spread.size else 0.0
