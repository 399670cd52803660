"""Which nodes of a graph are a PyTorch module's, by the module paths on the nodes."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import onnx

from rewriters.onnx_graph.module_paths import module_path
from rewriters.onnx_graph.reads import reads


def nodes_of_module(graph: onnx.GraphProto, pattern: str) -> list[bool]:
    """Which nodes are at or below a module, or one of several ("model.[0-9]"); "" is the whole model."""
    return [_at_or_below(module_path(node), pattern) for node in graph.node]


def known_modules(graph: onnx.GraphProto) -> list[str]:
    """All modules that are named on nodes, and those around them; empty where no node has a path."""
    there = {module_path(node) for node in graph.node} - {None}
    return sorted({part for path in there if path for part in _with_parents(path)})


def between(nodes: Sequence[onnx.NodeProto], is_inside: Sequence[bool]) -> list[bool]:
    """Which nodes of unknown path have the module's before and behind them, through nodes of unknown path alone."""
    unknown = [module_path(node) is None for node in nodes]
    behind, computed = [], set[str]()
    for node, ours, open_ in zip(nodes, is_inside, unknown, strict=True):
        behind.append(open_ and not computed.isdisjoint(reads(node)))
        if ours or behind[-1]:
            computed.update(node.output)
    before, read = [], set[str]()
    for node, ours, open_ in zip(reversed(nodes), reversed(is_inside), reversed(unknown), strict=True):
        before.append(open_ and not read.isdisjoint(node.output))
        if ours or before[-1]:
            read.update(reads(node))
    return [both == (True, True) for both in zip(behind, reversed(before), strict=True)]


def _at_or_below(module: str | None, path: str) -> bool:
    return module is not None and (path == "" or any(fnmatchcase(part, path) for part in _with_parents(module)))


def _with_parents(path: str) -> Iterator[str]:
    atoms = path.split(".")
    yield from (".".join(atoms[:count]) for count in range(1, len(atoms) + 1))
