"""Numbers for inputs of a graph that have defaults, such as a threshold or a scale."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError, nearest
from zoo.tensor_spec import TensorSpec


def graph_defaults(inputs: Iterable[TensorSpec], defaults: Mapping[str, float]) -> dict[str, NDArray[Any]]:
    """The numbers as arrays [1] of their inputs' dtypes, in the order of the inputs."""
    return {spec.name: np.array([defaults[spec.name]], spec.dtype) for spec in inputs if spec.name in defaults}


def graph_settings(
    model: str, defaults: Mapping[str, NDArray[Any]], inputs: Mapping[str, float]
) -> dict[str, NDArray[Any]]:
    """The numbers as the graph takes them. `model`: its name, for messages. `defaults`: the inputs that there are.

    Raises InputError for an unknown input, and for a number that does not fit its input.
    """
    settings: dict[str, NDArray[Any]] = {}
    for name, value in inputs.items():
        if name not in defaults:
            known = nearest(name, defaults) if defaults else "it has no inputs that can be set"
            raise InputError(f'{model}: unknown input "{name}"; {known}')
        settings[name] = _setting(model, name, value, defaults[name].dtype)
    return settings


def _setting(model: str, name: str, value: float, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The number as an array [1] of the input's dtype. Raises InputError for none, and where it does not fit."""
    kinds = (int, float, np.integer, np.floating)
    try:
        if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
            raise InputError(f'{model}: input "{name}" is {value!r}, expected a number')
        if dtype.kind == "i" and (value != int(value) or value < 1):
            raise InputError(f'{model}: input "{name}" is {value!r}, expected an integer, 1 or more')
        with np.errstate(over="raise"):
            return np.array([value]).astype(dtype) if dtype.kind == "f" else np.array([int(value)], dtype)
    except (OverflowError, FloatingPointError) as error:
        raise InputError(f'{model}: input "{name}" is too large for {dtype}; give a smaller number') from error
