"""The passes that every exported graph goes through, in order."""

from collections.abc import Mapping, Sequence

import onnx

from rewriters.graph.declare_shapes import declare_shapes
from rewriters.graph.strip_traces import strip_traces
from zoo.target import Target
from zoo.tensor_spec import TensorSpec


def finish(
    model: onnx.ModelProto, target: Target, output_specs: Sequence[TensorSpec], metadata: Mapping[str, str]
) -> onnx.ModelProto:
    """A model ready to be checked; `model` is changed in place."""
    strip_traces(model)
    declare_shapes(model, target, output_specs)
    onnx.helper.set_model_props(model, dict(sorted(metadata.items())))
    return model
