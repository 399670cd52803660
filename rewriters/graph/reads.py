"""What a node reads, from the graph around it as well."""

from collections.abc import Iterator

import onnx


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """The names of the values that a node reads, those inside its subgraphs included."""
    yield from filter(None, node.input)  # an input that is left out has no name
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                yield from reads(inner)
            yield from (output.name for output in attribute.g.output)
