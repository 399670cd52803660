"""Dropping the recorded shapes behind zooport::used_rows.

torch has one row for each slot there, the graph only the used ones (a Compress). ONNX Runtime believes what a file
says about its values: it would plan memory by it.
"""

import onnx

from rewriters.onnx_graph.reads import reads


def drop_row_shapes(model: onnx.ModelProto) -> None:
    """Drop the value_info of all that depends on a Compress, in place, main graph only. Outputs keep their shapes."""
    graph = model.graph
    behind: set[str] = set()
    for node in graph.node:  # in topological order
        if node.op_type == "Compress" or not behind.isdisjoint(reads(node)):
            behind.update(node.output)
    kept = [value for value in graph.value_info if value.name not in behind]
    del graph.value_info[:]
    graph.value_info.extend(kept)
