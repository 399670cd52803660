"""Stripping what the exporters leave of the machine that they ran on; our own module paths are kept.

dynamo writes stack traces with local file paths, and the text of FX nodes, into the metadata of nodes and values;
torchscript writes stack traces into doc strings.
"""

import onnx

from rewriters.onnx_graph.module_paths import MODULE
from rewriters.onnx_graph.scopes import every_graph


def strip_traces(model: onnx.ModelProto) -> None:
    """Strip them everywhere in the model, in place."""
    model.doc_string = ""
    del model.metadata_props[:]
    for graph in every_graph(model.graph):
        graph.doc_string = ""
        del graph.metadata_props[:]
        for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
            value.doc_string = ""
            del value.metadata_props[:]
        for node in graph.node:
            node.doc_string = ""
            kept = [entry for entry in node.metadata_props if entry.key == MODULE]
            del node.metadata_props[:]
            node.metadata_props.extend(kept)
