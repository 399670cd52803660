"""How far one module's output is from PyTorch's, as a row of the report."""

from typing import NamedTuple


class ModuleError(NamedTuple):
    """``error``: the largest absolute one, in the tensor's own unit; ``relative``: a part of the tensor's range.

    Of something that is not finite both are NaN.
    """

    module: str
    error: float
    relative: float
