"""Which nodes of a graph a user means by the names of PyTorch modules."""

from collections.abc import Sequence

import onnx

from rewriters.onnx_graph.module_nodes import between, known_modules, nodes_of_module
from rewriters.onnx_graph.module_paths import MODULE
from zoo.errors import ExportError, nearest


def nodes_of_modules(model: onnx.ModelProto, patterns: Sequence[str]) -> dict[int, str]:
    """The places in `model.graph.node` of the nodes in the named modules -> the pattern that names them.

    A module's nodes are those at or below it, and nodes of unknown path between two of them. Patterns are of the
    shell's kind ("roi_heads.*"). Raises ExportError for one that fits no module of the graph, naming the nearest.
    """
    patterns_of: dict[int, str] = {}
    for pattern in patterns:
        nodes = nodes_of_module(model.graph, pattern)
        if not any(nodes):
            raise ExportError(f'keep_fp32: no node is of a module "{pattern}"; {_instead(model, pattern)}')
        among = between(model.graph.node, nodes)
        for place, (ours, open_) in enumerate(zip(nodes, among, strict=True)):
            if ours or open_:
                patterns_of.setdefault(place, pattern)
    return patterns_of


def _instead(model: onnx.ModelProto, pattern: str) -> str:
    known = known_modules(model.graph)
    if known:
        return nearest(pattern, known)
    return f"no node has a module path ({MODULE}), which our exports write; export the model with zooport"
