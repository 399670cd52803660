"""Marks in a graph: the nodes go, and the node before each keeps its name in its metadata.

    x = Conv(...); y = zooport::Mark(x) {name}; Relu(y)   ->   x = Conv(...) {zooport.mark.0: name}; Relu(x)

A mark on an input of the graph or on a constant leaves nothing: both sides have it anyway.
"""

import json
from collections.abc import Iterator

import onnx

from rewriters.onnx_graph.keep_metadata import MARK
from rewriters.onnx_graph.scopes import every_graph, rename_reads
from rewriters.ops.operator import ARGUMENTS, DOMAIN

MARKER = "Mark"


def keep_marks(model: onnx.ModelProto) -> None:
    """Take the marker nodes out, everywhere in the model, in place."""
    for graph in every_graph(model.graph):
        _keep(graph)


def marks(graph: onnx.GraphProto) -> Iterator[tuple[str, str]]:
    """(name, tensor) of the main graph, in its order."""
    for node in graph.node:
        for entry in node.metadata_props:
            if entry.key.startswith(MARK):
                tensor = node.output[int(entry.key.removeprefix(MARK))]
                yield from ((name, tensor) for name in json.loads(entry.value))


def _keep(graph: onnx.GraphProto) -> None:
    ends = {value.name for value in graph.output}
    makers: dict[str, tuple[onnx.NodeProto, int]] = {}
    same: dict[str, str] = {}  # what a marker gave -> what it was given
    final: dict[str, str] = {}  # what was given -> the graph's output that a marker made of it
    kept: list[onnx.NodeProto] = []
    for node in graph.node:
        rename_reads(node, same)
        if not (node.domain == DOMAIN and node.op_type == MARKER):
            kept.append(node)
            makers.update((name, (node, index)) for index, name in enumerate(node.output) if name)
            continue
        source, result = node.input[0], node.output[0]
        if source in makers:
            _name(*makers[source], _given_name(node))
        if result not in ends:
            same[result] = source
        elif source in makers and source not in ends and source not in final:
            final[source] = result
        else:
            kept.append(onnx.helper.make_node("Identity", [source], [result], node.name))
    for node in kept:
        rename_reads(node, final)
        node.output[:] = [final.get(name, name) for name in node.output]
    del graph.node[:]
    graph.node.extend(kept)
    stated = [value for value in graph.value_info if value.name not in same and value.name not in final]
    del graph.value_info[:]
    graph.value_info.extend(stated)


def _given_name(node: onnx.NodeProto) -> str:
    (text,) = (attribute.s for attribute in node.attribute if attribute.name == ARGUMENTS)
    name: str = json.loads(text)["name"]
    return name


def _name(node: onnx.NodeProto, index: int, name: str) -> None:
    key = f"{MARK}{index}"
    for entry in node.metadata_props:
        if entry.key == key:
            entry.value = json.dumps([*json.loads(entry.value), name])
            return
    node.metadata_props.add(key=key, value=json.dumps([name]))
