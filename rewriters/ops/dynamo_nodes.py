"""Nodes of ours in an export by dynamo: functions of its translation table write them."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import torch
from onnxscript import values
from torch.onnx import JitScalarType  # type: ignore[attr-defined]  # not in __all__
from torch.onnx._internal.exporter._registration import ONNXRegistry

from rewriters.ops.operator import (
    ARGUMENTS,
    DOMAIN,
    KINDS,
    NO_KIND,
    OPERATORS,
    RANKS,
    RESULT,
    UNKNOWN,
    Operator,
    kind_of,
)
from zoo.errors import ExportError
from zoo.target import OPSETS


def dynamo_nodes(operators: Mapping[str, Operator] = OPERATORS) -> dict[Callable[..., Any], Callable[..., Any]]:
    """Functions that write our nodes: the table for torch.onnx.export(dynamo=True, custom_translation_table=...)."""
    return {operator.overload: _traced(operator) for operator in operators.values()}


def _traced(operator: Operator) -> Callable[..., Any]:
    parameters = operator.overload._schema.arguments  # noqa: SLF001  # see above

    def traced(*arguments: Any, **named: Any) -> Any:
        rest = parameters[len(arguments) :]
        all_arguments = [*arguments, *(named.get(parameter.name, parameter.default_value) for parameter in rest)]
        tensors, constants = operator.sorted_arguments(all_arguments, list, _plain)
        shapes = [getattr(tensor, "shape", None) for tensor in tensors]
        ranks = [UNKNOWN if shape is None else len(shape) for shape in shapes]
        if operator.when is not None and not operator.when(ranks, **constants):
            return _of_torch(operator)(*arguments, **named)
        kinds = [int(getattr(tensor, "dtype", None) or NO_KIND) for tensor in tensors]
        meta = operator.of_no_data(all_arguments, constants, list, _stand_in_ir) if operator.promotes else []
        result = kind_of(JitScalarType.from_dtype(meta[0].dtype)) if meta else NO_KIND
        schema = _schema(operator.op_type, operator.results)
        write = values.Op(values.Opset(DOMAIN, 1), operator.op_type, schema)
        texts = {ARGUMENTS: constants, RANKS: ranks, KINDS: kinds, RESULT: result}
        return write(*tensors, **{name: json.dumps(value) for name, value in texts.items()})

    return traced


def _stand_in_ir(tensor: Any) -> torch.Tensor | None:
    """For a value of the dynamo exporter's graph; a size that is not known is 1."""
    if tensor is None:
        return None
    if getattr(tensor, "dtype", None) is None or getattr(tensor, "shape", None) is None:
        raise LookupError("a tensor of a type that is not known")
    sizes = [size if isinstance(size, int) else 1 for size in tensor.shape]
    dtype = torch.from_numpy(np.empty(0, tensor.dtype.numpy())).dtype
    return torch.empty(sizes, dtype=dtype, device="meta")


def _of_torch(operator: Operator) -> Callable[..., Any]:
    """The dynamo exporter's own translation. Raises ExportError where it has none."""
    decompositions = ONNXRegistry.from_torchlib().get_decomps(operator.overload)
    if not decompositions:
        raise ExportError(f"{operator.name}: neither torch's dynamo exporter nor zooport translates such a call")
    function: Callable[..., Any] = decompositions[0].onnx_function
    return function


def _plain(argument: Any, kind: str) -> Any:
    return list(argument) if "List[" in kind and argument is not None else argument


def _schema(name: str, results: int) -> onnx.defs.OpSchema:
    """Any number of tensors in, so many out, and the arguments."""
    types = sorted(onnx.defs.get_schema("Identity", OPSETS.start).type_constraints[0].allowed_type_strs)
    formal, variadic = onnx.defs.OpSchema.FormalParameter, onnx.defs.OpSchema.FormalParameterOption.Variadic
    return onnx.defs.OpSchema(
        name,
        DOMAIN,
        1,
        inputs=[formal("tensors", "T", param_option=variadic, is_homogeneous=False)],
        outputs=[formal(f"result_{index}", f"R{index}") for index in range(results)],
        type_constraints=[("T", types, ""), *((f"R{index}", types, "") for index in range(results))],
        attributes=[
            onnx.defs.OpSchema.Attribute(attribute, onnx.defs.OpSchema.AttrType.STRING, "")
            for attribute in (ARGUMENTS, RANKS, KINDS, RESULT)
        ],
    )
