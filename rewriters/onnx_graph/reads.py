"""What a node reads, from the graph around it as well."""

from collections.abc import Iterator

import onnx

from rewriters.onnx_graph.scopes import captured


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """The names of the values that a node reads, and of those that its subgraphs read of the graphs around."""
    yield from filter(None, node.input)  # an input that is left out has no name
    yield from captured(node)
