"""Faults to plant in one constant of an exported graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from rewriters.onnx_graph.module_paths import module_path

Fault = Callable[[onnx.ModelProto], None]


def read(module: str, operator: str, slot: int, old: float, new: float) -> Fault:
    """Let the first node of the module that reads `old` read `new`: all others keep theirs."""

    def plant(model: onnx.ModelProto) -> None:
        for node in model.graph.node:
            if (module_path(node), node.op_type) != (module, operator) or len(node.input) <= slot:
                continue
            value = value_of(model, node.input[slot])
            if value is not None and value.size == 1 and np.isclose(float(value.item()), old, rtol=1e-5, atol=0):
                node.input[slot] = _added(model, np.full_like(value, new))
                return
        raise AssertionError(f"no {operator} of {module} reads {old}")

    return plant


def numbers(operator: str, slot: int, change: Callable[[np.ndarray], np.ndarray], *, module: str) -> Fault:
    """Change the first array of float numbers that a node of the operator reads in the module."""

    def plant(model: onnx.ModelProto) -> None:
        for node in model.graph.node:
            if (module_path(node), node.op_type) != (module, operator):
                continue
            value = value_of(model, node.input[slot])
            if value is not None and value.size > 1 and value.dtype.kind == "f":
                node.input[slot] = _added(model, change(value.copy()))
                return
        raise AssertionError(f"no {operator} of {module} reads an array")

    return plant


def stored(columns: int, change: Callable[[np.ndarray], np.ndarray]) -> Fault:
    """Change the last float array [*, columns] that the graph stores."""

    def plant(model: onnx.ModelProto) -> None:
        tensors = [
            *model.graph.initializer,
            *(node.attribute[0].t for node in model.graph.node if node.op_type == "Constant"),
        ]
        fitting = [
            tensor
            for tensor in tensors
            if len(tensor.dims) > 1 and tensor.dims[-1] == columns and tensor.data_type == onnx.TensorProto.FLOAT
        ]
        value = change(np.array(numpy_helper.to_array(fitting[-1])))
        fitting[-1].CopyFrom(numpy_helper.from_array(value, fitting[-1].name))

    return plant


def attribute(module: str, operator: str, number: int, **values: Any) -> Fault:
    """Change attributes of one node of the operator: that of this number, in graph order."""

    def plant(model: onnx.ModelProto) -> None:
        nodes = [node for node in model.graph.node if (module_path(node), node.op_type) == (module, operator)]
        kept = [entry for entry in nodes[number].attribute if entry.name not in values]
        del nodes[number].attribute[:]
        nodes[number].attribute.extend(kept)
        nodes[number].attribute.extend(onnx.helper.make_attribute(name, value) for name, value in values.items())

    return plant


def value_of(model: onnx.ModelProto, name: str) -> np.ndarray | None:
    """Of a constant of the main graph by its name."""
    for tensor in model.graph.initializer:
        if tensor.name == name:
            return np.array(numpy_helper.to_array(tensor))
    for node in model.graph.node:
        if node.op_type == "Constant" and name in node.output:
            return np.array(numpy_helper.to_array(node.attribute[0].t))
    return None


def _added(model: onnx.ModelProto, value: np.ndarray) -> str:
    name = f"planted_{len(model.graph.initializer)}"
    model.graph.initializer.append(numpy_helper.from_array(value, name))
    return name
