"""A graph in the precision of a target."""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from numpy.typing import NDArray

from rewriters.precision.fp16 import to_fp16
from rewriters.precision.int8 import to_int8
from rewriters.precision.report import PrecisionReport
from zoo.precision_options import PrecisionOptions


def to_precision(
    model: onnx.ModelProto, precision: str, options: PrecisionOptions, feeds: Sequence[Mapping[str, NDArray[Any]]]
) -> tuple[onnx.ModelProto, PrecisionReport]:
    """The model in "fp16" or "int8", and what came of it; `model` stays as it is.

    `feeds`: the graph's inputs by name, of one calibration picture after the other. Raises as to_fp16 and to_int8 do.
    """
    return {"fp16": to_fp16, "int8": to_int8}[precision](model, options, feeds)
