"""Dtypes and shapes of values inside a graph, as the inputs and outputs of a piece of it have to state them."""

from collections.abc import Iterable

import onnx

from rewriters.onnx_graph.value_types import value_types
from zoo.errors import ExportError


def stated_values(model: onnx.ModelProto, names: Iterable[str]) -> dict[str, onnx.ValueInfoProto]:
    """What the graph says of these values, else what ONNX infers; unknown sizes get a name, "<value>_<axis>".

    Raises ExportError for a value whose dtype or number of axes nobody knows: a file must state both.
    """
    known = known_values(model)
    return {name: _complete(name, known) for name in names}


def known_values(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """What is known of the main graph's values, as it would be stated."""
    types = value_types(model)
    return {name: onnx.helper.make_value_info(name, kind) for name, kind in types.items()}


def _complete(name: str, known: dict[str, onnx.ValueInfoProto]) -> onnx.ValueInfoProto:
    value = onnx.ValueInfoProto()
    if name in known:
        value.CopyFrom(known[name])
    kind = value.type.WhichOneof("value")
    if kind is None or (kind == "tensor_type" and not value.type.tensor_type.HasField("shape")):
        missing = "dtype" if kind is None else "number of axes"
        raise ExportError(
            f'the {missing} of "{name}" is not known, as behind an operator that ONNX does not know; '
            "cut at another tensor"
        )
    for axis, dim in enumerate(value.type.tensor_type.shape.dim if kind == "tensor_type" else ()):
        if not dim.HasField("dim_value") and not dim.dim_param:
            dim.dim_param = f"{name}_{axis}"
    return value
