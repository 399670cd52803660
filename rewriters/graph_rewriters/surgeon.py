"""onnx-graphsurgeon with what it forgets: metadata, doc strings, and inputs that have defaults.

graphsurgeon 0.6.1 keeps none of them; module paths are in the metadata of nodes.
"""

from collections.abc import Callable

import onnx
import onnx_graphsurgeon as gs

from rewriters.graph_rewriters.defaults import check_no_defaults
from rewriters.onnx_graph.keep_metadata import keep_metadata


def edited(model: onnx.ModelProto, edit: Callable[[gs.Graph], None]) -> onnx.ModelProto:
    """The model after `edit` changed its graph. A node keeps its metadata, a new one has that of its output's maker.

    Raises ExportError for a graph whose inputs have defaults: graphsurgeon would make constants of them.
    """
    check_no_defaults(model)
    graph = gs.import_onnx(model)
    old = {
        id(node): (node, list(proto.metadata_props))  # the node stays alive, so that its id stays its own
        for node, proto in zip(graph.nodes, model.graph.node, strict=True)
    }
    edit(graph)
    result: onnx.ModelProto = gs.export_onnx(graph, do_type_check=False)
    keep_metadata(result, model)
    for proto, node in zip(result.graph.node, graph.nodes, strict=True):
        if id(node) in old and not proto.metadata_props:  # its outputs were renamed
            proto.metadata_props.extend(old[id(node)][1])
    return result
