"""Nodes of operators that ONNX Runtime does not have."""

from collections.abc import Iterable

import onnx

from rewriters.onnx_graph.opset import STANDARD
from rewriters.onnx_graph.scopes import every_graph

RUN_DOMAINS = (*STANDARD, "ai.onnx.ml", "com.microsoft")  # domains that ONNX Runtime runs


def custom_nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Those, in subgraphs too, that neither ONNX Runtime knows by itself nor a function of the model defines."""
    functions = {(function.domain, function.name) for function in model.functions}
    nodes = (node for graph in every_graph(model.graph) for node in graph.node)
    return [node for node in nodes if node.domain not in RUN_DOMAINS and (node.domain, node.op_type) not in functions]


def format_custom_nodes(nodes: Iterable[onnx.NodeProto]) -> str:
    """``custom nodes a::B, c::D``; "" where there are none."""
    operators = {f"{node.domain}::{node.op_type}" for node in nodes}
    return f"custom nodes {', '.join(sorted(operators))}" if operators else ""
