"""A graph in the precision of a target."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import onnx
from numpy.typing import NDArray

from rewriters.precision.fp16 import to_fp16
from rewriters.precision.int8 import to_int8
from rewriters.precision.report import PrecisionReport
from zoo.dialect import dialect_of
from zoo.precision_options import PrecisionOptions

Feeds = Sequence[Mapping[str, NDArray[Any]]]
Converter = Callable[[onnx.ModelProto, PrecisionOptions, Feeds], tuple[onnx.ModelProto, PrecisionReport]]


def converter(precision: str, backend: str) -> Converter:
    """What brings a graph to "fp16" or "int8", as a backend computes it.

    It takes the model, which stays as it is, the options, and the graph's inputs by name, of one calibration image
    after the other; it gives the model in that precision, and what came of it. Raises as to_fp16 and to_int8 do.
    """
    dialect = dialect_of(backend)
    converters: Mapping[str, Converter] = {
        "fp16": to_fp16,
        "int8": partial(to_int8, bits=dialect.weight_bits, unsigned=dialect.unsigned_activations),
    }
    return converters[precision]
