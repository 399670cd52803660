"""The nodes that take the place of a node of ours, by the translation of its operator."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from rewriters.onnx_graph.keep_metadata import hand_down
from rewriters.onnx_graph.scopes import rename_reads
from rewriters.ops.graph_builder import GraphBuilder
from rewriters.ops.operator import ARGUMENTS, KINDS, NO_KIND, OPERATORS, RANKS, RESULT, UNKNOWN, Operator
from zoo.dialect import OperatorForm
from zoo.errors import ExportError, ZooportError


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
        rename_reads(added, renamed)
        added.output[:] = [renamed.get(name, name) for name in added.output]
    hand_down(node, builder.nodes)
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
