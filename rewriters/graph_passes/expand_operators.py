"""Our nodes as the ONNX operators of their translation, in the graph and its subgraphs.

zooport::X(tensors) {arguments}  ->  the translation in rewriters.ops.x that is for the target's backend, or the
symbolic rewriter for the target
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import onnx

from rewriters.onnx_graph.opset import STANDARD, add_domain
from rewriters.onnx_graph.scopes import every_graph, subgraphs
from rewriters.ops.operator import DOMAIN, Operator
from rewriters.ops.translation import translate
from rewriters.symbolic.declaration import operators_for, symbolic_for
from zoo.dialect import OperatorForm, dialect_of
from zoo.errors import ExportError
from zoo.target import Target


def expand_operators(model: onnx.ModelProto, target: Target) -> None:
    """Replace every node of ours, in place. Raises ExportError where a translation cannot be had."""
    operators, form = operators_for(target), dialect_of(target.backend).operator_form
    _check_opset(model, operators, form, target.opset)
    _expand(model.graph, operators, form)
    kept = [opset for opset in model.opset_import if opset.domain != DOMAIN]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    for domain in sorted({node.domain for node in _nodes(model)} - set(STANDARD)):
        add_domain(model, domain)
    computed = {name for node in _nodes(model) for name in node.output}
    missing = {value.name for value in model.graph.output} - computed - {value.name for value in model.graph.input}
    missing -= {value.name for value in model.graph.initializer}
    if missing:
        raise ExportError(f"the graph gives {', '.join(sorted(missing))}, which no translation computes")


def translated(model: onnx.ModelProto, target: Target) -> Counter[str]:
    """How often each symbolic rewriter acted, by name; to be asked before its nodes are expanded."""
    names = {rewriter.operator.op_type: rewriter.name for rewriter in symbolic_for(target)}
    ours = (node.op_type for node in _nodes(model) if node.domain == DOMAIN)
    return Counter(names[op_type] for op_type in ours if op_type in names)


def _check_opset(model: onnx.ModelProto, operators: Mapping[str, Operator], form: OperatorForm, opset: int) -> None:
    for node in _nodes(model):
        if node.domain == DOMAIN and (least := operators[node.op_type].least_opset.get(form, opset)) > opset:
            raise ExportError(
                f"{operators[node.op_type].name} needs opset {least} or later, and the target has opset {opset}; "
                f"give --opset {least}, or export.opset in the config"
            )


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    return (node for graph in every_graph(model.graph) for node in graph.node)


def _expand(graph: onnx.GraphProto, operators: Mapping[str, Operator], form: OperatorForm) -> None:
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        for inner in subgraphs(node):
            _expand(inner, operators, form)
        nodes.extend(translate(node, form, operators) if node.domain == DOMAIN else [node])
    del graph.node[:]
    graph.node.extend(nodes)
