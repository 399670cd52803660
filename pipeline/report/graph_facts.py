"""What an ONNX file is made of: its operators, and those that the standard does not have."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from zoo.errors import InputError
from zoo.opened_file import COPY_AGAIN, OpenedFile, as_opened

STANDARD = ("", "ai.onnx", "ai.onnx.ml")


@dataclass(frozen=True)
class CustomOperator:
    """``defined``: whether the file itself says what it computes, as a function of standard operators."""

    name: str
    count: int
    defined: bool

    @property
    def words(self) -> str:
        """In one line."""
        how = (
            "the file defines it as a function, so any runtime can run it"
            if self.defined
            else "a runtime needs a plugin or a kernel for it"
        )
        return f"{self.name}, {self.count} times: {how}"


@dataclass(frozen=True)
class GraphFacts:
    """``operators``: how often each occurs, the most frequent first; those of subgraphs and functions count, too."""

    operators: dict[str, int]
    opsets: dict[str, int]
    custom: tuple[CustomOperator, ...]

    @property
    def nodes(self) -> int:
        """In all."""
        return sum(self.operators.values())


def graph_facts(file: Path | OpenedFile) -> GraphFacts:
    """Of the file; its weights are not read where they lie beside it. Raises InputError where it is no ONNX model."""
    with as_opened(file) as opened:
        try:
            model = onnx.load_model_from_string(opened.read())
        except DecodeError as error:
            raise InputError(f"{opened.path}: not an ONNX model, or a damaged one ({error}); {COPY_AGAIN}") from error
    defined = {(function.domain, function.name) for function in model.functions}
    counts = Counter((node.domain, node.op_type) for node in _all_nodes(model))
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return GraphFacts(
        {_name(*key): count for key, count in ranked},
        {entry.domain or "ai.onnx": entry.version for entry in model.opset_import},
        tuple(CustomOperator(_name(*key), count, key in defined) for key, count in ranked if key[0] not in STANDARD),
    )


def _name(domain: str, operator: str) -> str:
    return operator if domain in {"", "ai.onnx"} else f"{domain}::{operator}"


def _all_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    yield from _nodes(model.graph.node)
    for function in model.functions:
        yield from _nodes(function.node)


def _nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _nodes(attribute.g.node)
            for graph in attribute.graphs:
                yield from _nodes(graph.node)
