"""Inputs of a graph to try it with: random numbers, for sizes that its dynamic axes may have."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from zoo.errors import ExportError

SIZES = ((1, 64), (3, 96), (2, 8), (1, 224), (5, 5), (1, 1))
"""(of a first axis, of any other): what is likely to run comes first."""
WHOLE = 4  # whole numbers are below it: they may be indices

Inputs = tuple[str, dict[str, NDArray[Any]]]
"""The sizes in words, and an array for each input."""


def random_inputs(model: onnx.ModelProto) -> Iterator[Inputs]:
    """One set for each pair of SIZES, or only one where no axis is dynamic. The same numbers every time.

    Raises ExportError for an input that is no tensor of numbers.
    """
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initializers]
    for sizes in SIZES:
        chance = np.random.default_rng(0)
        dynamic: dict[str, int] = {}
        feed = {value.name: _numbers(value, _shape(value, sizes, dynamic), chance) for value in inputs}
        yield " ".join(f"{axis}={size}" for axis, size in dynamic.items()) or "its fixed shapes", feed
        if not dynamic:
            return


def _shape(value: onnx.ValueInfoProto, sizes: tuple[int, int], dynamic: dict[str, int]) -> list[int]:
    """Axes of one name have one size; those without any are named by their place."""
    shape = []
    for axis, dim in enumerate(value.type.tensor_type.shape.dim):
        if dim.HasField("dim_value") and dim.dim_value > 0:
            shape.append(dim.dim_value)
        else:
            name = dim.dim_param or f"{value.name}[{axis}]"
            shape.append(dynamic.setdefault(name, sizes[min(axis, 1)]))
    return shape


def _numbers(value: onnx.ValueInfoProto, shape: list[int], chance: np.random.Generator) -> NDArray[Any]:
    tensor = value.type.tensor_type
    kind = np.dtype(object)
    if value.type.HasField("tensor_type") and tensor.HasField("shape"):
        kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if kind.kind == "f":
        return chance.standard_normal(shape).astype(kind)
    if kind.kind in "iub":
        return chance.integers(0, WHOLE, shape).astype(kind)
    raise ExportError(f"input {value.name} is not a numeric tensor with a known number of axes")
