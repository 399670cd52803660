"""The inputs and outputs of a loaded engine, and its profiles."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from backends.profiles import Shape, ShapeRange
from zoo.errors import InputError
from zoo.tensor_spec import TensorSpec

DTYPES = {"FLOAT": "float32", "HALF": "float16", "BOOL": "bool"} | {
    name.upper(): name for name in ("int8", "int32", "int64", "uint8")
}
"""Name of TensorRT's DataType -> numpy's. Others, such as BF16, numpy has not."""


class EngineIO:
    """Names, dtypes and ranges of an engine's tensors, read once.

    `inputs`, `outputs`: name -> dtype. `on_host`: inputs whose values TensorRT needs on the host, because shapes depend
    on them. `ranges`: for each profile, input -> (min, opt, max) shapes, without those `on_host`.
    """

    def __init__(self, engine: Any, trt: ModuleType) -> None:
        names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        inputs = [name for name in names if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        self.inputs = {name: _dtype(engine, name) for name in inputs}
        self.outputs = {name: _dtype(engine, name) for name in names if name not in self.inputs}
        self.on_host = frozenset(name for name in inputs if engine.get_tensor_location(name) == trt.TensorLocation.HOST)
        self.ranges: tuple[Mapping[str, ShapeRange], ...] = tuple(
            {name: _range(engine, name, index) for name in inputs if name not in self.on_host}
            for index in range(engine.num_optimization_profiles)
        )

    def profile_for(self, shapes: Mapping[str, Shape]) -> int:
        """The number of the profile to run these shapes with: the narrowest that holds them, of equals the first.

        Profiles for single batch sizes come after the general one, and are faster there. Raises InputError where none
        holds them.
        """
        fits = [index for index, ranges in enumerate(self.ranges) if _holds(ranges, shapes)]
        if not fits:
            got = ", ".join(f"{name} {list(shapes[name])}" for name in self.ranges[0])
            takes = "; or ".join(
                ", ".join(f"{name} {list(least)} to {list(most)}" for name, (least, _, most) in ranges.items())
                for ranges in self.ranges
            )
            raise InputError(
                f"inputs: got {got}, the engine takes {takes}: split or resize the input, or deploy with wider bounds "
                "(--dynamic)"
            )
        return min(fits, key=lambda index: _breadth(self.ranges[index]))


def agree(side: str, path: object, actual: Mapping[str, str], wanted: Sequence[TensorSpec]) -> None:
    """Raise InputError unless an engine's tensors of one side ("input", "output") are those described."""
    for spec in wanted:
        if actual.get(spec.name) != spec.dtype:
            has = ", ".join(f"{name} {dtype}" for name, dtype in actual.items())
            raise InputError(
                f"{path}: got the {side}s {has}; expected {spec}; the engine is not the one that was described: deploy "
                "the model again"
            )
    extra = actual.keys() - {spec.name for spec in wanted}
    if side == "input" and extra:
        raise InputError(
            f"{path}: the engine needs the input {min(extra)}, which nothing describes; deploy the model again"
        )


def _dtype(engine: Any, name: str) -> str:
    dtype = engine.get_tensor_dtype(name)
    return DTYPES.get(dtype.name, str(dtype.name))


def _range(engine: Any, name: str, profile: int) -> ShapeRange:
    """An input's (min, opt, max) shapes; where no axis is dynamic, the one shape that it has: no profile names it."""
    fixed = tuple(engine.get_tensor_shape(name))
    if all(side >= 0 for side in fixed):
        return fixed, fixed, fixed
    least, best, most = (tuple(shape) for shape in engine.get_tensor_profile_shape(name, profile))
    return least, best, most


def _holds(ranges: Mapping[str, ShapeRange], shapes: Mapping[str, Shape]) -> bool:
    return all(
        len(shapes[name]) == len(most)
        and all(low <= side <= high for low, side, high in zip(least, shapes[name], most, strict=True))
        for name, (least, _, most) in ranges.items()
    )


def _breadth(ranges: Mapping[str, ShapeRange]) -> float:
    """How many shapes a profile holds; as a float, since a product of many sides overflows an int64."""
    sides = [high - low + 1 for least, _, most in ranges.values() for low, high in zip(least, most, strict=True)]
    return float(np.prod(sides, dtype=np.float64))
