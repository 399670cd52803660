"""What libraries that edit graphs forget: metadata and doc strings of the model, its nodes and its values."""

from collections.abc import Iterator, Sequence
from typing import Any

import onnx

from rewriters.onnx_graph.scopes import every_graph

OF_MODEL = ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string")


def keep_metadata(result: onnx.ModelProto, source: onnx.ModelProto) -> None:
    """Write it into `result`, in place. A node keeps its own as long as it gives one of its outputs."""
    _copy(result, source, OF_MODEL)
    known = dict(_described(source))
    for key, item in _described(result):
        if key in known:
            _copy(item, known[key])


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
