"""Stripping what the exporters leave of the machine that they ran on; module paths are kept.

dynamo writes stack traces with local file paths, and the text of FX nodes, into the metadata of nodes and values;
torchscript writes stack traces into doc strings.
"""

from collections.abc import Iterator

import onnx

MODULE_PATH_KEYS = ("namespace", "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy")


def strip_traces(model: onnx.ModelProto) -> None:
    """Strip them everywhere in the model, in place."""
    model.doc_string = ""
    del model.metadata_props[:]
    for graph in _graphs(model.graph):
        graph.doc_string = ""
        del graph.metadata_props[:]
        for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
            value.doc_string = ""
            del value.metadata_props[:]
        for node in graph.node:
            node.doc_string = ""
            kept = [entry for entry in node.metadata_props if entry.key in MODULE_PATH_KEYS]
            del node.metadata_props[:]
            node.metadata_props.extend(kept)


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _graphs(attribute.g)
