"""A parser's or builder's error, brought back to the PyTorch module and to what helps."""

import onnx

from backends.preflight import Row
from backends.refused import GraphRefusedError
from backends.registry import get_backend
from pipeline.preflight.finding import FoundNode
from pipeline.preflight.site import sites
from rewriters.onnx_graph.scopes import every_graph
from zoo.errors import ExportError
from zoo.target import Target

SHORTEST = 4  # characters of a node's name that is looked for in a text
GENERAL = (
    "write it with other operators in the model, add a symbolic rewriter for it (docs/rewriters.md), or cut the graph "
    "before it with --output-level decoded or raw"
)


def explain(error: GraphRefusedError, model: onnx.ModelProto, target: Target) -> ExportError:
    """The refusal in one line: the node, its PyTorch module, the reason, and what helps: a row's cure, or an option.

    `model`: the graph that was refused. The rows are those of the target's backend.
    """
    node = _node(error, model)
    reason = " ".join(error.reason.split())
    if node is None:
        where = f'{error.operator or "node"} "{error.node}"' if error.node else "the graph"
        return ExportError(f"{error.title} refuses {where}: {reason}")
    row = _row(node, model, target)
    help_ = GENERAL if row is None else f"{row.cure} ({row.source})"
    return ExportError(f"{error.title} refuses {FoundNode.of(node)}: {reason}; {help_}")


def _node(error: GraphRefusedError, model: onnx.ModelProto) -> onnx.NodeProto | None:
    """By its name; else the one whose name, the longest, stands in the reason, for layers are named after nodes."""
    nodes: list[onnx.NodeProto] = [node for graph in every_graph(model.graph) for node in graph.node]
    named = [node for node in nodes if error.node and error.node in (node.name, *node.output)]
    if named:
        return named[0]
    mentioned = [node for node in nodes if len(node.name) >= SHORTEST and node.name in error.reason]
    if mentioned:
        longest: onnx.NodeProto = max(mentioned, key=lambda node: len(node.name))
        return longest
    same = [node for node in nodes if node.op_type == error.operator]
    return same[0] if len(same) == 1 else None


def _row(node: onnx.NodeProto, model: onnx.ModelProto, target: Target) -> Row | None:
    """The first that hits the node."""
    rows = get_backend(target.backend).preflight_rows()
    site = next((site for site in sites(model, target) if list(site.node.output) == list(node.output)), None)
    return None if site is None else next((row for row in rows if row.hits(site)), None)
