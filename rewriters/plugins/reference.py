"""Running graphs with plugin nodes where TensorRT is not: onnx's ReferenceEvaluator, in numpy."""

import onnx
from onnx.reference import ReferenceEvaluator

import rewriters.plugins.efficient_nms  # noqa: F401  # the plugin of no family
from rewriters.family_rewriters import import_all_rewriters
from rewriters.plugins.domain import plugin_nodes
from rewriters.plugins.operators import PLUGIN_OPERATORS


def reference_evaluator(model: onnx.ModelProto) -> ReferenceEvaluator:
    """An evaluator that knows the plugin nodes. Its `run(names, arrays)` gives the outputs; convolutions are slow."""
    if any(node.op_type not in PLUGIN_OPERATORS for node in plugin_nodes(model)):
        import_all_rewriters()
    return ReferenceEvaluator(model, new_ops=list(PLUGIN_OPERATORS.values()))
