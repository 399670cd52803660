"""Nodes of ours in an export by torchscript: symbolic functions write them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.onnx import JitScalarType, symbolic_helper  # type: ignore[attr-defined]  # JitScalarType is not in __all__

from rewriters.ops.operator import DOMAIN, NO_KIND, OPERATORS, UNKNOWN, Operator, kind_of
from rewriters.ops.symbolic_registry import Symbolic, registered
from zoo.target import OPSETS

_SINGLE = {"int": "i", "bool": "b", "float": "f", "str": "s", "number": "t"}
LETTERS = _SINGLE | {f"List[{kind}]": f"{letter}s" for kind, letter in _SINGLE.items()} | {"List[bool]": "is"}
"""torch.onnx's descriptor of a constant, by its type in torch's schema."""


@contextmanager
def torchscript_nodes(operators: Mapping[str, Operator] = OPERATORS, opset: int = OPSETS.start) -> Iterator[None]:
    """Symbolic functions that write our nodes, registered with torch.onnx for an opset while the context lasts."""
    with registered({operator.name: _symbolic(operator) for operator in operators.values()}, opset):
        yield


def _symbolic(operator: Operator) -> Symbolic:
    constant = partial(_constant, operator)

    def symbolic(g: Any, *arguments: Any) -> Any:
        arguments = _as_traced(g, operator, arguments)
        tensors, constants = operator.sorted_arguments(arguments, symbolic_helper._unpack_list, constant)  # noqa: SLF001
        ranks = [_rank(tensor) for tensor in tensors]
        if operator.when is not None and not operator.when(ranks, **constants):
            return NotImplemented
        types = _result_types(g, operator, arguments, constants)
        promoted = types[0].dtype() if operator.promotes else None
        output = g.op(
            f"{DOMAIN}::{operator.op_type}",
            *tensors,
            arguments_s=json.dumps(constants),
            ranks_s=json.dumps(ranks),
            kinds_s=json.dumps([int(kind_of(JitScalarType.from_value(x, JitScalarType.UNDEFINED))) for x in tensors]),
            result_s=json.dumps(NO_KIND if promoted is None else kind_of(JitScalarType.from_dtype(promoted))),
            outputs=operator.results,
        )
        results = [output] if operator.results == 1 else list(output)
        for index, result in enumerate(results):  # without a type later operators lose dtype and rank
            if operator.result_type is not None:
                result.setType(operator.result_type(tensors, constants))
            elif (rank := types[index].dim()) is not None:
                result.setType(types[index].with_sizes([None] * rank))
        return output

    return symbolic


def _constant(operator: Operator, argument: Any, kind: str) -> Any:
    """A torchscript value as plain Python, `kind` as in torch's schema. Raises TypeError or errors of torch.onnx."""
    kind = kind.removeprefix("Optional[").removesuffix("]") if kind.startswith("Optional") else kind
    value = symbolic_helper._get_const(argument, LETTERS[kind], operator.name)  # type: ignore[no-untyped-call]  # noqa: SLF001  # torch.onnx has no public name for it, nor for the next
    return value.item() if kind == "number" and value is not None else value


def _result_types(g: Any, operator: Operator, arguments: Sequence[Any], constants: Mapping[str, Any]) -> list[Any]:
    """The results' torchscript types as traced; what the operator gives for no data where a trace has none."""
    types = [result.type() for result in g.original_node.outputs()]
    if any(kind.dtype() is None or kind.dim() is None for kind in types):  # a scripted branch or loop
        meta = operator.of_no_data(arguments, constants, symbolic_helper._unpack_list, _stand_in)  # noqa: SLF001
        types = [torch._C.TensorType.create_from_tensor(x) for x in meta] or types  # noqa: SLF001  # no public name
    return types


def _as_traced(g: Any, operator: Operator, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, tensors in the dtype that torch computed them in.

    torchscript's translations of some operators give another: that of linspace gives float32, whatever was asked for.
    """
    parameters = operator.overload._schema.arguments  # noqa: SLF001  # see above
    cast = []
    for parameter, argument, original in zip(parameters, arguments, g.original_node.inputs(), strict=True):
        written, traced = JitScalarType.UNDEFINED, JitScalarType.UNDEFINED
        if str(parameter.type) in ("Tensor", "Optional[Tensor]") and not symbolic_helper._is_none(argument):  # noqa: SLF001  # see above
            written, traced = (JitScalarType.from_value(x, JitScalarType.UNDEFINED) for x in (argument, original))
        known = JitScalarType.UNDEFINED not in (written, traced)
        cast.append(g.op("Cast", argument, to_i=kind_of(traced)) if known and written is not traced else argument)
    return tuple(cast)


def _rank(tensor: Any) -> int:
    """Of a torchscript value."""
    rank = symbolic_helper._get_tensor_rank(tensor)  # noqa: SLF001
    return UNKNOWN if rank is None else int(rank)


def _stand_in(tensor: Any) -> torch.Tensor | None:
    """For a torchscript value; a size that is not known is 1."""
    if symbolic_helper._is_none(tensor):  # noqa: SLF001  # see above
        return None
    kind = tensor.type()
    if not isinstance(kind, torch._C.TensorType) or kind.dtype() is None or kind.dim() is None:  # noqa: SLF001  # see above
        raise LookupError("a tensor of a type that is not known")
    sizes = [1 if size is None else size for size in kind.varyingSizes() or ()]
    return torch.empty(sizes, dtype=kind.dtype(), device="meta")
