"""What an operator of ours brings for an export: its translations to ONNX."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from torch.onnx import symbolic_helper
from torch.onnx.utils import register_custom_op_symbolic, unregister_custom_op_symbolic

OPERATORS: list["Operator"] = []


@dataclass(frozen=True)
class Operator:
    """`name` ``zooport::x``; `overload` is the torch operator; one translation for each exporter.

    `torchscript(g, *inputs)` is a symbolic function; `dynamo(*inputs)` is traced with onnxscript values. Both must
    give the same ONNX operators.
    """

    name: str
    overload: Callable[..., Any]
    torchscript: Callable[..., Any]
    dynamo: Callable[..., Any]
    min_opset: int


def register(operator: Operator) -> None:
    """Add an operator to those that every export can translate."""
    OPERATORS.append(operator)


@contextmanager
def torchscript_translations() -> Iterator[None]:
    """The torchscript translations, registered with torch.onnx while the context lasts."""
    for operator in OPERATORS:
        register_custom_op_symbolic(operator.name, operator.torchscript, operator.min_opset)
    try:
        yield
    finally:
        for operator in OPERATORS:
            unregister_custom_op_symbolic(operator.name, operator.min_opset)


def constant_value(value: Any, kind: str, name: str) -> Any:
    """What a torchscript symbolic gets for a constant argument, as a Python value; kind "i", "f", "is" or "fs"."""
    return symbolic_helper._get_const(value, kind, name)  # type: ignore[no-untyped-call]  # noqa: SLF001  # see unpacked


def unpacked(value: Any) -> list[Any]:
    """The values of a list of tensors that a torchscript symbolic gets."""
    return list(symbolic_helper._unpack_list(value))  # noqa: SLF001  # torch.onnx has no public name for it


def onnx_tensor(value: Any, dtype: Any) -> onnx.TensorProto:
    """A constant for the attribute of an ONNX node."""
    return onnx.numpy_helper.from_array(np.asarray(value, dtype=dtype))


def dynamo_translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The table for torch.onnx.export(dynamo=True, custom_translation_table=...)."""
    return {operator.overload: operator.dynamo for operator in OPERATORS}
