"""A squeeze that torchscript leaves to run time, because it does not know whether the axis has length 1.

    If(Equal(Gather(Shape(x), axis), 1), Squeeze(x, axis), Identity(x))  ->  Squeeze(x, axis)

TensorRT refuses an If whose branches have different numbers of axes. A model squeezes an axis because it has length 1.
Where it has another length, the plain graph stops, which the comparisons show.
"""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from zoo.dialect import dialect_of
from zoo.target import Target

LACK = "If of unequal ranks"


def plain_squeezes(model: onnx.ModelProto, target: Target) -> int:
    """Change every such If of the main graph, in place, for a backend that refuses it; how many changed."""
    if LACK not in dialect_of(target.backend).lacks:
        return 0
    makers = {output: node for node in model.graph.node for output in node.output}
    ones = set(_ones(model.graph))
    nodes: list[onnx.NodeProto] = []
    changed = 0
    for node in model.graph.node:
        condition = makers.get(node.input[0]) if node.op_type == "If" else None
        compares = condition is not None and condition.op_type == "Equal" and not ones.isdisjoint(condition.input)
        squeeze = _squeeze(node) if compares else None
        if squeeze is None:
            nodes.append(node)
            continue
        squeeze[-1].output[0] = node.output[0]
        nodes.extend(squeeze)
        changed += 1
    if changed:
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    return changed


def _ones(graph: onnx.GraphProto) -> Iterator[str]:
    """The names of the constants that are 1."""
    values: dict[str, Any] = {tensor.name: tensor for tensor in graph.initializer if prod(tensor.dims) == 1}
    for node in graph.node:
        if node.op_type == "Constant":
            values[node.output[0]] = onnx.helper.get_attribute_value(node.attribute[0])
    for name, value in values.items():
        number = numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
        if np.array_equal(np.ravel(number), [1]):
            yield name


def _squeeze(choice: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    """The nodes of the branch that squeezes, the Squeeze last, of such an If."""
    branches = {attribute.name: list(attribute.g.node) for attribute in choice.attribute}
    squeezed, same = branches["then_branch"], branches["else_branch"]
    if [node.op_type for node in same] != ["Identity"]:
        return None
    *constants, last = squeezed
    if last.op_type != "Squeeze" or last.input[0] != same[0].input[0]:
        return None
    return None if any(node.op_type != "Constant" for node in constants) else squeezed
