"""What mydomain::TwoAPlusB computes, in numpy; -1 in `a` is an error on purpose."""

import numpy as np
from numpy.typing import NDArray

from rewriters.symbolic.kernels import kernel


@kernel("mydomain::TwoAPlusB")
def two_a_plus_b(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    if (a == -1).any():
        raise ValueError("on purpose")
    return 2 * a + b
