"""Graph rewriters: named edits of an ONNX graph, each usable alone, from zooport rewrite, or by a config."""

from rewriters.graph_rewriters.cast_bytes_last import cast_bytes_last
from rewriters.graph_rewriters.cast_precision import cast_precision
from rewriters.graph_rewriters.drop_identities import drop_identities
from rewriters.graph_rewriters.efficient_nms_plugin import efficient_nms_plugin
from rewriters.graph_rewriters.extract_submodel import extract_submodel
from rewriters.graph_rewriters.fold_constants import fold_constants
from rewriters.graph_rewriters.graph_rewriter import (
    GRAPH_REWRITERS,
    Rewritten,
    all_graph_rewriters,
    check_steps,
    rewrite_graph,
)
from rewriters.graph_rewriters.replace_op import replace_op
from rewriters.graph_rewriters.set_metadata import set_metadata
from rewriters.graph_rewriters.simplify import simplify
from rewriters.graph_rewriters.threshold_inputs import threshold_inputs

__all__ = [
    "GRAPH_REWRITERS",
    "Rewritten",
    "all_graph_rewriters",
    "cast_bytes_last",
    "cast_precision",
    "check_steps",
    "drop_identities",
    "efficient_nms_plugin",
    "extract_submodel",
    "fold_constants",
    "replace_op",
    "rewrite_graph",
    "set_metadata",
    "simplify",
    "threshold_inputs",
]
