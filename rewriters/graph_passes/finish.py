"""The passes that every exported graph goes through, in order."""

from collections.abc import Mapping, Sequence

import onnx

from rewriters.graph_passes.argmax_before_concat import argmax_before_concat
from rewriters.graph_passes.constant_scales import constant_scales
from rewriters.graph_passes.constant_sizes import constant_sizes
from rewriters.graph_passes.constant_weights import constant_weights
from rewriters.graph_passes.declare_shapes import declare_shapes
from rewriters.graph_passes.drop_row_shapes import drop_row_shapes
from rewriters.graph_passes.drop_unused import drop_unused
from rewriters.graph_passes.expand_operators import expand_operators
from rewriters.graph_passes.marks import keep_marks
from rewriters.graph_passes.plain_squeezes import plain_squeezes
from rewriters.graph_passes.strip_traces import strip_traces
from rewriters.graph_passes.vector_products import vector_products
from rewriters.onnx_graph.module_paths import module_paths
from zoo.target import Target
from zoo.tensor_spec import TensorSpec


def finish(
    model: onnx.ModelProto,
    target: Target,
    output_specs: Sequence[TensorSpec],
    metadata: Mapping[str, str],
    names: Mapping[str, str],
) -> onnx.ModelProto:
    """A model ready to be checked; `model` is changed in place. `names`: those of the modules, see traced_names."""
    module_paths(model, names)
    strip_traces(model)
    keep_marks(model)
    expand_operators(model, target)
    constant_weights(model)
    drop_row_shapes(model)
    declare_shapes(model, target, output_specs)
    constant_sizes(model)
    changed = constant_scales(model) + argmax_before_concat(model) + vector_products(model)
    if changed + plain_squeezes(model, target):
        drop_unused(model)
    onnx.helper.set_model_props(model, dict(sorted(metadata.items())))
    return model
