"""An operator of ours in an export: both exporters write it as one node, and its translation takes the node's place.

    torch.ops.zooport.x(tensors, values)  ->  zooport::X(tensors) {arguments: JSON of the values}  ->  ONNX operators

Symbolic rewriters do the same with operators of other libraries (see rewriters.symbolic).

So a translation is written once for both exporters, and may hold subgraphs, which neither lets a translation have.
Which one is chosen depends on the dialect of the target's backend: see zoo.dialect.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from onnxscript import values
from torch.onnx import JitScalarType, errors, symbolic_helper  # type: ignore[attr-defined]  # JitScalarType is not in __all__
from torch.onnx._internal.exporter._registration import ONNXRegistry

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.ops.symbolic_registry import Symbolic, registered
from zoo.dialect import OperatorForm
from zoo.errors import ExportError, ZooportError
from zoo.target import OPSETS

DOMAIN, ARGUMENTS, RANKS, KINDS, RESULT = "zooport", "arguments", "ranks", "kinds", "result"  # a node's attributes
UNKNOWN = -1  # a rank that the exporter does not know
NO_KIND: int = onnx.TensorProto.UNDEFINED  # a dtype that it does not know
OPERATORS: dict[str, "Operator"] = {}

Translation = Callable[..., str | tuple[str, ...]]
"""(builder, *tensors, **values) -> the name of the result, or of each result, "" for one that no model asks for; a list
of tensors comes as so many tensors, and an optional tensor that is not given as ""."""
ResultType = Callable[[Sequence[Any], Mapping[str, Any]], Any]
"""(torchscript values of the tensors, values) -> the result's torchscript type: no size that another input changes.
None: dtype and number of axes as traced, or what the operator gives for tensors without data; no sizes at all."""


Case = Callable[..., bool]
"""(ranks of the tensors, **values) -> whether the translation is for such a call; the others are the exporter's."""


@dataclass(frozen=True)
class Operator:
    """`overload` is the torch operator; `translations` by operator form; `when` None: every call is translated.

    `promotes`: the translation gets the tensors in the dtype of the result, as torch computes it.
    """

    overload: Any
    result_type: ResultType | None
    translations: Mapping[OperatorForm, Translation]
    when: Case | None = None
    promotes: bool = False

    @property
    def name(self) -> str:
        """As torch names it, ``zooport::nms_keep``."""
        return str(self.overload.name())

    @property
    def op_type(self) -> str:
        """As ONNX names such a thing: ``NmsKeep``; of other namespaces than ours ``TorchvisionDeformConv2D``."""
        return re.sub("[^0-9a-z]", "", self.name.removeprefix(f"{DOMAIN}::").title(), flags=re.IGNORECASE)

    @property
    def results(self) -> int:
        """How many tensors it gives."""
        return len(self.overload._schema.returns)  # noqa: SLF001  # torch has no public name for it

    def sorted_arguments(
        self, arguments: Sequence[Any], unpack: Callable[[Any], Sequence[Any]], value: Callable[[Any, str], Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """What an exporter gives for the operator's arguments, as tensors and as values by name.

        `unpack(argument)`: the tensors of a list; `value(argument, type)`: as plain Python, types as in torch's schema,
        or TypeError where it is no constant of the graph, which becomes an ExportError.
        """
        tensors, constants = [], {}
        for parameter, argument in zip(self.overload._schema.arguments, arguments, strict=True):  # noqa: SLF001  # see above
            kind = str(parameter.type)
            if kind in ("Tensor", "Optional[Tensor]"):
                tensors.append(argument)
            elif kind == "List[Tensor]":
                tensors.extend(unpack(argument))
            else:
                try:
                    constants[parameter.name] = value(argument, kind)
                    json.dumps(constants[parameter.name])
                except (TypeError, errors.SymbolicValueError) as error:
                    raise ExportError(
                        f"{self.name}: {parameter.name} is computed in the graph, and its translation needs a "
                        "constant; give the model a plain number, not one read from a tensor's shape or values"
                    ) from error
        return tensors, constants

    def of_no_data(
        self,
        arguments: Sequence[Any],
        constants: Mapping[str, Any],
        unpack: Callable[[Any], Sequence[Any]],
        stand_in: Callable[[Any], torch.Tensor | None],
    ) -> list[torch.Tensor]:
        """The results, on the device meta, of which dtype and number of axes hold; [] where they are not known.

        `stand_in(argument)`: a tensor on meta of its dtype and number of axes, or LookupError.
        """
        positional: list[Any] = []
        named: dict[str, Any] = {}
        try:
            for parameter, argument in zip(self.overload._schema.arguments, arguments, strict=True):  # noqa: SLF001  # see above
                kind = str(parameter.type)
                filled: Any
                if kind == "List[Tensor]":
                    filled = [stand_in(tensor) for tensor in unpack(argument)]
                else:
                    filled = constants[parameter.name] if parameter.name in constants else stand_in(argument)
                if parameter.kwarg_only:
                    named[parameter.name] = filled
                else:
                    positional.append(filled)
            results = self.overload(*positional, **named)
        except (LookupError, RuntimeError, TypeError, ValueError):  # sizes that are not known may not fit
            return []
        return [results] if self.results == 1 else list(results)


def register(operator: Operator) -> None:
    """Add an operator to those that every export can translate."""
    OPERATORS[operator.op_type] = operator


def translate(
    node: onnx.NodeProto, form: OperatorForm, operators: Mapping[str, Operator] = OPERATORS
) -> list[onnx.NodeProto]:
    """The nodes that take the place of a node of ours. Raises ExportError where the translation cannot be had."""
    operator = operators[node.op_type]
    constants, ranks, kinds, result = (_stored(node, name) for name in (ARGUMENTS, RANKS, KINDS, RESULT))
    known = {name: rank for name, rank in zip(node.input, ranks, strict=False) if rank != UNKNOWN}
    dtypes = {name: kind for name, kind in zip(node.input, kinds, strict=False) if kind != NO_KIND}
    builder = GraphBuilder(next(name for name in node.output if name), ranks=known, kinds=dtypes)
    inputs = list(node.input)
    if operator.promotes and result != NO_KIND:
        inputs = [name if dtypes.get(name) == result else builder.Cast(name, to=result) for name in inputs]
        dtypes.update(dict.fromkeys(inputs, result))
    results = _results(operator, form, builder, inputs, constants, len(node.output))
    renamed = {ours: name for ours, name in zip(results, node.output, strict=True) if ours and name}
    for added in builder.nodes:
        added.input[:] = [renamed.get(name, name) for name in added.input]
        added.output[:] = [renamed.get(name, name) for name in added.output]
        added.metadata_props.extend(node.metadata_props)
    return builder.nodes


def _stored(node: onnx.NodeProto, name: str) -> Any:
    (text,) = (attribute.s for attribute in node.attribute if attribute.name == name)
    return json.loads(text)


def _results(
    operator: Operator,
    form: OperatorForm,
    builder: GraphBuilder,
    inputs: Sequence[str],
    constants: Mapping[str, Any],
    expected: int,
) -> list[str]:
    """What a translation gives: each name that of a result of its own nodes, and no name twice."""
    try:
        answer = operator.translations[form](builder, *inputs, **constants)
    except Exception as error:  # a translation is anybody's code
        reason = str(error) if isinstance(error, ZooportError) else f"{type(error).__name__}: {error}"
        raise ExportError(f"the translation of {operator.name} fails: {reason}") from error
    results = [answer] if isinstance(answer, str) else list(answer) if isinstance(answer, tuple) else []
    if len(results) != expected or not all(isinstance(result, str) for result in results):
        raise ExportError(
            f"the translation of {operator.name} gives {answer!r}, expected the name of its result"
            + (f", or a tuple of {expected} names" if expected > 1 else "")
        )
    computed = {name for added in builder.nodes for name in added.output}
    for index, result in enumerate(results):
        if result and (result not in computed or result in results[:index]):  # an input given back, or one result twice
            results[index] = builder.Identity(result)
    return results


@contextmanager
def torchscript_nodes(operators: Mapping[str, Operator] = OPERATORS, opset: int = OPSETS.start) -> Iterator[None]:
    """Symbolic functions that write our nodes, registered with torch.onnx for an opset while the context lasts."""
    with registered({operator.name: _symbolic(operator) for operator in operators.values()}, opset):
        yield


def _symbolic(operator: Operator) -> Symbolic:
    kinds = {"int": "i", "bool": "b", "float": "f", "str": "s", "number": "t"}
    kinds |= {f"List[{kind}]": f"{letter}s" for kind, letter in kinds.items()}
    kinds["List[bool]"] = "is"

    def constant(argument: Any, kind: str) -> Any:
        kind = kind.removeprefix("Optional[").removesuffix("]") if kind.startswith("Optional") else kind
        value = symbolic_helper._get_const(argument, kinds[kind], operator.name)  # type: ignore[no-untyped-call]  # noqa: SLF001  # torch.onnx has no public name for it, nor for the next
        return value.item() if kind == "number" and value is not None else value

    def symbolic(g: Any, *arguments: Any) -> Any:
        arguments = _as_traced(g, operator, arguments)
        tensors, constants = operator.sorted_arguments(arguments, symbolic_helper._unpack_list, constant)  # noqa: SLF001
        ranks = [_rank(tensor) for tensor in tensors]
        if operator.when is not None and not operator.when(ranks, **constants):
            return NotImplemented
        types = [result.type() for result in g.original_node.outputs()]
        if any(kind.dtype() is None or kind.dim() is None for kind in types):  # a scripted branch or loop
            meta = operator.of_no_data(arguments, constants, symbolic_helper._unpack_list, _stand_in)  # noqa: SLF001
            types = [torch._C.TensorType.create_from_tensor(x) for x in meta] or types  # noqa: SLF001  # no public name
        promoted = types[0].dtype() if operator.promotes else None
        output = g.op(
            f"{DOMAIN}::{operator.op_type}",
            *tensors,
            arguments_s=json.dumps(constants),
            ranks_s=json.dumps(ranks),
            kinds_s=json.dumps([int(_kind(JitScalarType.from_value(x, JitScalarType.UNDEFINED))) for x in tensors]),
            result_s=json.dumps(NO_KIND if promoted is None else _kind(JitScalarType.from_dtype(promoted))),
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
        cast.append(g.op("Cast", argument, to_i=_kind(traced)) if known and written is not traced else argument)
    return tuple(cast)


def _rank(tensor: Any) -> int:
    """Of a torchscript value."""
    rank = symbolic_helper._get_tensor_rank(tensor)  # noqa: SLF001
    return UNKNOWN if rank is None else int(rank)


def _kind(scalar: JitScalarType) -> int:
    return NO_KIND if scalar is JitScalarType.UNDEFINED else int(scalar.onnx_type().value)


def _stand_in(tensor: Any) -> torch.Tensor | None:
    """For a torchscript value; a size that is not known is 1."""
    if symbolic_helper._is_none(tensor):  # noqa: SLF001  # see above
        return None
    kind = tensor.type()
    if not isinstance(kind, torch._C.TensorType) or kind.dtype() is None or kind.dim() is None:  # noqa: SLF001  # see above
        raise LookupError("a tensor of a type that is not known")
    sizes = [1 if size is None else size for size in kind.varyingSizes() or ()]
    return torch.empty(sizes, dtype=kind.dtype(), device="meta")


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
        result = _kind(JitScalarType.from_dtype(meta[0].dtype)) if meta else NO_KIND
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
