"""Sizes that are the same for every input, computed once.

    Shape(x [batch, 3, 256, 320]) -> Gather(2) -> Concat(...)  ->  256

Where the batch is dynamic, ONNX Runtime computes them in each run. torchscript writes hundreds of such nodes.
"""

import onnx
from onnx import TensorProto

from rewriters.graph_passes.fold_constants import fold_constants
from rewriters.onnx_graph.value_types import value_types

MOST_BYTES = 1024
"""Of a value: what is larger holds no sizes."""
DTYPES = (TensorProto.BOOL, TensorProto.INT32, TensorProto.INT64)


def constant_sizes(model: onnx.ModelProto) -> None:
    """Fold whole numbers and conditions that depend on no input and on no dynamic axis, in place.

    Shapes that torch recorded are not relied upon: where it infers none, it records that of its example.
    """
    recorded = list(model.graph.value_info)
    del model.graph.value_info[:]
    whole = {name for name, kind in value_types(model).items() if kind.tensor_type.elem_type in DTYPES}
    fold_constants(model, MOST_BYTES, whole)
    made = {name for node in model.graph.node for name in node.output}
    model.graph.value_info.extend(value for value in recorded if value.name in made)
