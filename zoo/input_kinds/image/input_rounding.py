"""What the rounding of an input does to a model itself: the measure for whatever differs end to end.

Production resizes bytes, the reference floats, so their tensors differ by rounding. How much a model makes of that is
its own matter: a trained FCN relabels 0.02 % of an image, an untrained U-Net 3 %. So PyTorch runs on more tensors,
which are the reference's own with another rounding each, and what changes there is no fault of a deployment:
1. every value rounded to whole grey levels, as production's are;
2. and on: every value moved by its measured difference to production's, at most half a grey level, with a sign by
   chance, another one each time.
A wrong resize, padding or colour order is systematic: its differences have the sign of their place, and none of these
explains what they do.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Tensor = NDArray[np.float32]

GREY_LEVELS = 255.0  # in the tensor's 0..1
MOST = 0.5 / GREY_LEVELS  # rounding to whole grey levels moves no value further


def rounded_inputs(own: Tensor, production: Tensor) -> Iterator[Tensor]:
    """Tensors [3, H, W] from the reference's ``own`` and that of ``production``, of one shape, without end."""
    levels = np.round(own * GREY_LEVELS) / np.float32(GREY_LEVELS)
    yield levels.astype(np.float32)
    rng = np.random.default_rng(0)
    distance = np.minimum(np.abs(production - own), np.float32(MOST))
    while True:
        signs = rng.choice(np.array((-1, 1), np.float32), size=own.shape)
        yield (own + signs * distance).astype(np.float32)
