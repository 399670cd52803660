"""Metadata where a graph is edited: what libraries forget of it, and what nodes that take another's place keep."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import onnx

from rewriters.onnx_graph.scopes import every_graph

MARK = "zooport.mark."
"""Of the metadata key of a node that names one of its outputs, whose number follows. The value: JSON of the names."""
OF_MODEL = ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string")


def keep_metadata(result: onnx.ModelProto, source: onnx.ModelProto) -> None:
    """Write it into `result`, in place. A node keeps its own as long as it gives one of its outputs."""
    _copy(result, source, OF_MODEL)
    known = dict(_described(source))
    for key, item in _described(result):
        if key in known:
            _copy(item, known[key])


def hand_down(node: onnx.NodeProto, nodes: Iterable[onnx.NodeProto]) -> None:
    """Write the metadata of a node on those that take its place; a mark on the one alone that gives its tensor now."""
    for taking in nodes:
        places = {name: index for index, name in enumerate(taking.output) if name}
        for entry in node.metadata_props:
            key: str | None = entry.key
            if entry.key.startswith(MARK):
                index = places.get(node.output[int(entry.key.removeprefix(MARK))])
                key = None if index is None else f"{MARK}{index}"
            if key is not None:
                taking.metadata_props.add(key=key, value=entry.value)


def _described(model: onnx.ModelProto) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every graph, node and value under what it can be found again by."""
    for graph in every_graph(model.graph):
        yield (graph.name,), graph
        for node in graph.node:
            yield from (((graph.name, "node", output), node) for output in node.output if output)
        fields: Sequence[Any] = (graph.input, graph.output, graph.value_info, graph.initializer)
        for field in fields:
            yield from (((graph.name, "value", value.name), value) for value in field)


def _copy(item: Any, source: Any, fields: Sequence[str] = ("doc_string",)) -> None:
    """What is equal is not touched: an empty text that is written takes bytes."""
    for field in fields:
        if getattr(item, field) != getattr(source, field):
            setattr(item, field, getattr(source, field))
    props = list(source.metadata_props)
    del item.metadata_props[:]
    item.metadata_props.extend(props)
