"""Writing the known shapes of inputs and outputs into the file, under the contract's axis names.

The exporters invent names for sizes that they lost, and for dynamic ones.
"""

from collections.abc import Sequence

import onnx

from zoo.errors import ExportError
from zoo.input_kinds import input_axes
from zoo.target import Target
from zoo.tensor_spec import TensorSpec


def declare_shapes(model: onnx.ModelProto, target: Target, output_specs: Sequence[TensorSpec]) -> None:
    """Set the shapes, in place. Raises ExportError where a graph's output has another dtype or number of axes."""
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        for place, axis in input_axes(value.name).items():
            if place < len(dims) and axis in target.dynamic_axes:
                dims[place].dim_param = axis
    outputs = {value.name: value for value in model.graph.output}
    for spec in output_specs:
        if spec.name not in outputs:
            raise ExportError(f'the graph has no output "{spec.name}"; it has {", ".join(outputs)}')
        _declare(outputs[spec.name], spec)


def _declare(value: onnx.ValueInfoProto, spec: TensorSpec) -> None:
    tensor = value.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
    if dtype != spec.dtype:
        raise ExportError(f"output {spec.name} is {dtype}, the contract asks for {spec.dtype}")
    if tensor.HasField("shape") and len(tensor.shape.dim) != len(spec.shape):
        raise ExportError(f"output {spec.name} has {len(tensor.shape.dim)} axes, the contract asks for {spec.shape}")
    known = [dim.dim_value for dim in tensor.shape.dim] or [0] * len(spec.shape)
    tensor.shape.ClearField("dim")
    for size, traced in zip(spec.shape, known, strict=True):
        dim = tensor.shape.dim.add()
        if isinstance(size, str):
            dim.dim_param = size
        elif traced not in (0, size):
            raise ExportError(f"output {spec.name} has a fixed size {traced} where the contract asks for {size}")
        else:
            dim.dim_value = size
