"""What a backend takes of a graph, as far as an export has a choice (torch-free).

Rewriters ask for it by the name of a target's backend. Each backend registers its own, see backends.registry.
"""

from dataclasses import dataclass
from typing import Literal

from zoo.errors import InputError, nearest
from zoo.target import DEFAULT_BACKEND

OperatorForm = Literal["runtime", "standard"]
RUNTIME: OperatorForm = "runtime"
STANDARD: OperatorForm = "standard"


@dataclass(frozen=True)
class Dialect:
    """What a backend takes of a graph.

    ``operator_form``: "runtime" where the backend runs ONNX's operators of data-dependent sizes (NonMaxSuppression,
    NonZero, RoiAlign, antialiased Resize); "standard" where their work is written with operators of fixed sizes.
    ``lacks``: ONNX operators that it refuses or computes wrongly, and that rewriters write with others: "DeformConv",
    "GridSample", "antialiased Resize", "If of unequal ranks" (branches with different numbers of axes).
    ``weight_bits``: of int8 weights; 7 where kernels add two products in 16 bits, see rewriters.precision.pair_sums.
    ``unsigned_activations``: int8 stores activations as uint8 of their whole range, with a zero point, and each layer
    gives such numbers. Else they are symmetric int8, and what is not quantised reads floats that are not rounded.
    """

    operator_form: OperatorForm = RUNTIME
    lacks: frozenset[str] = frozenset()
    weight_bits: int = 7
    unsigned_activations: bool = True


_DIALECTS: dict[str, Dialect] = {}


def register_dialect(backend: str, dialect: Dialect) -> None:
    """What the backend of that name takes."""
    _DIALECTS[backend] = dialect


def dialect_of(backend: str) -> Dialect:
    """What the backend takes; the default backend is known before any is registered.

    Raises InputError for a backend that is not registered: `backends.available()` registers all there are, and so does
    whatever pipeline does.
    """
    if backend in _DIALECTS:
        return _DIALECTS[backend]
    if backend == DEFAULT_BACKEND:
        return Dialect()
    known = nearest(backend, _DIALECTS) if _DIALECTS else "none is registered yet: call backends.available() first"
    raise InputError(f'unknown backend "{backend}"; {known}')
