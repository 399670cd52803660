"""Arrays that cannot be written to."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


def frozen_array(values: ArrayLike, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """A read-only view of `values`, converted to `dtype` where it differs. The caller's own array stays writable."""
    view = np.asarray(values, dtype).view()
    view.setflags(write=False)
    return view
