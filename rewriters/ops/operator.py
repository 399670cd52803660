"""An operator of ours in an export: both exporters write it as one node, and its translation takes the node's place.

    torch.ops.zooport.x(tensors, values)  ->  zooport::X(tensors) {arguments: JSON of the values}  ->  ONNX operators

So a translation is written once for both exporters, and may hold subgraphs, which neither lets a translation have.
Which one is chosen depends on the target's backend: see `family`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import onnx
from onnxscript import values
from torch.onnx import symbolic_helper
from torch.onnx.utils import register_custom_op_symbolic, unregister_custom_op_symbolic

from rewriters.ops.graph_builder import GraphBuilder
from zoo.target import OPSETS, Target

DOMAIN, ARGUMENTS = "zooport", "arguments"
ONNXRUNTIME, TENSORRT = "onnxruntime", "tensorrt"  # the families of translations
OPERATORS: dict[str, "Operator"] = {}

Translation = Callable[..., str]
"""(builder, *tensors, **values) -> the name of the result; a list of tensors comes as so many tensors."""
ResultType = Callable[[Sequence[Any], Mapping[str, Any]], Any]
"""(torchscript values of the tensors, values) -> the result's torchscript type: no size that another input changes."""


@dataclass(frozen=True)
class Operator:
    """`overload` is the torch operator; `translations` by family."""

    overload: Any
    result_type: ResultType
    translations: Mapping[str, Translation]

    @property
    def name(self) -> str:
        """As torch names it, ``zooport::nms_keep``."""
        return str(self.overload.name())

    @property
    def op_type(self) -> str:
        """As ONNX names such a thing, ``NmsKeep``."""
        return self.name.partition("::")[2].title().replace("_", "")

    def sorted_arguments(
        self, arguments: Sequence[Any], unpack: Callable[[Any], Sequence[Any]], value: Callable[[Any, str], Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """What an exporter gives for the operator's arguments, as tensors and as values by name.

        `unpack(argument)`: the tensors of a list; `value(argument, type)`: as plain Python, types as in torch's schema.
        """
        tensors, given = [], {}
        for parameter, argument in zip(self.overload._schema.arguments, arguments, strict=True):  # noqa: SLF001  # torch has no public name for it
            kind = str(parameter.type)
            if kind == "Tensor":
                tensors.append(argument)
            elif kind == "List[Tensor]":
                tensors.extend(unpack(argument))
            else:
                given[parameter.name] = value(argument, kind)
        return tensors, given


def register(operator: Operator) -> None:
    """Add an operator to those that every export can translate."""
    OPERATORS[operator.op_type] = operator


def family(target: Target) -> str:
    """The family of translations for a target's backend."""
    return TENSORRT if target.backend in ("tensorrt", "tensorrt-rtx") else ONNXRUNTIME


def translate(node: onnx.NodeProto, target_family: str) -> list[onnx.NodeProto]:
    """The nodes that take the place of a node of ours; the last one gives its result."""
    builder = GraphBuilder(node.output[0])
    (given,) = (json.loads(attribute.s) for attribute in node.attribute if attribute.name == ARGUMENTS)
    result = OPERATORS[node.op_type].translations[target_family](builder, *node.input, **given)
    last = builder.nodes[-1]
    assert list(last.output) == [result], f"{node.op_type}: a translation ends with its result"
    last.output[:] = node.output
    for added in builder.nodes:
        added.metadata_props.extend(node.metadata_props)
    return builder.nodes


@contextmanager
def torchscript_nodes() -> Iterator[None]:
    """Symbolic functions that write our nodes, registered with torch.onnx while the context lasts."""
    for operator in OPERATORS.values():
        register_custom_op_symbolic(operator.name, _symbolic(operator), OPSETS.start)
    try:
        yield
    finally:
        for operator in OPERATORS.values():
            unregister_custom_op_symbolic(operator.name, OPSETS.start)


def _symbolic(operator: Operator) -> Callable[..., Any]:
    kinds = {"int": "i", "float": "f", "List[int]": "is", "List[float]": "fs"}

    def symbolic(g: Any, *arguments: Any) -> Any:
        tensors, given = operator.sorted_arguments(
            arguments,
            symbolic_helper._unpack_list,  # noqa: SLF001  # torch.onnx has no public name for it, nor for the next
            lambda argument, kind: symbolic_helper._get_const(argument, kinds[kind], operator.name),  # type: ignore[no-untyped-call]  # noqa: SLF001
        )
        result = g.op(f"{DOMAIN}::{operator.op_type}", *tensors, arguments_s=json.dumps(given))
        result.setType(operator.result_type(tensors, given))  # without it later operators lose dtype and rank
        return result

    return symbolic


def dynamo_nodes() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Functions that write our nodes: the table for torch.onnx.export(dynamo=True, custom_translation_table=...)."""
    return {operator.overload: _traced(operator) for operator in OPERATORS.values()}


def _traced(operator: Operator) -> Callable[..., Any]:
    def traced(*arguments: Any) -> Any:
        tensors, given = operator.sorted_arguments(
            arguments, list, lambda argument, kind: list(argument) if kind.startswith("List") else argument
        )
        schema = _schema(operator.op_type)
        return values.Op(values.Opset(DOMAIN, 1), operator.op_type, schema)(*tensors, arguments=json.dumps(given))

    return traced


def _schema(name: str) -> onnx.defs.OpSchema:
    """Any number of tensors in, one out, and the arguments."""
    types = sorted(onnx.defs.get_schema("Identity", OPSETS.start).type_constraints[0].allowed_type_strs)
    formal, variadic = onnx.defs.OpSchema.FormalParameter, onnx.defs.OpSchema.FormalParameterOption.Variadic
    return onnx.defs.OpSchema(
        name,
        DOMAIN,
        1,
        inputs=[formal("tensors", "T", param_option=variadic, is_homogeneous=False)],
        outputs=[formal("result", "R")],
        type_constraints=[("T", types, ""), ("R", types, "")],
        attributes=[onnx.defs.OpSchema.Attribute(ARGUMENTS, onnx.defs.OpSchema.AttrType.STRING, "")],
    )
