"""Products with a constant vector as products with a column.

    MatMul(x [..., K], v [K])  ->  Squeeze(MatMul(x, v [K, 1]), -1)

Both give the same numbers, but for rounding. ONNX Runtime (1.32) takes the first one row by row, which is far slower.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from rewriters.onnx_graph.keep_metadata import hand_down

COLUMN, LAST = "zooport_column", "zooport_last_axis"


def vector_products(model: onnx.ModelProto) -> int:
    """Change every such MatMul of the main graph, in place; how many changed."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    same = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Identity"}
    changed = 0
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        vector = _vector(node, tensors, same)
        if vector is None:
            nodes.append(node)
            continue
        product, column, weight = node.output[0], f"{node.output[0]}/column", f"{COLUMN}_{changed}"
        model.graph.initializer.append(numpy_helper.from_array(vector[:, None], weight))
        taking = [
            onnx.helper.make_node("MatMul", [node.input[0], weight], [column], node.name),
            onnx.helper.make_node("Squeeze", [column, LAST], [product], f"{node.name}/squeeze"),
        ]
        hand_down(node, taking)
        nodes.extend(taking)
        changed += 1
    if changed:
        model.graph.initializer.append(numpy_helper.from_array(np.array([-1]), LAST))
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    return changed


def _vector(
    node: onnx.NodeProto, tensors: Mapping[str, onnx.TensorProto], same: Mapping[str, str]
) -> NDArray[Any] | None:
    """The constant vector by which a MatMul multiplies."""
    if node.op_type != "MatMul":
        return None
    name = node.input[1]
    while name in same:
        name = same[name]
    tensor = tensors.get(name)
    return None if tensor is None or len(tensor.dims) != 1 else numpy_helper.to_array(tensor)
