"""Numbers, arrays and attributes of constants in a few words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHOWN = 4


def number_text(value: Any) -> str:
    """As short as it stays the same float32."""
    number = np.asarray(value).item()
    return str(number) if isinstance(number, int) else str(np.float32(number))


def array_text(value: NDArray[Any], *, values: bool = True) -> str:
    """Its shape, and its numbers where they are few."""
    if values and value.size <= SHOWN:
        return f"[{', '.join(number_text(number) for number in value.ravel())}]"
    return f"an array {list(value.shape)}"


def attributes_text(values: Mapping[str, Any]) -> str:
    """Name by name."""
    return ", ".join(f"{name} {_plain(value)}" for name, value in values.items())


def _plain(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, str):
        return value
    return number_text(value) if np.asarray(value).size == 1 else array_text(np.asarray(value))
