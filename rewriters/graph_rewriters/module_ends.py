"""Where a PyTorch module begins and ends in a graph, by the module paths on the nodes."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import onnx

from rewriters.graph.module_paths import MODULE, module_path
from rewriters.graph.reads import reads
from zoo.errors import ExportError, nearest


def module_ends(model: onnx.ModelProto, path: str) -> tuple[list[str], list[str]]:
    """The values that a module's nodes read from outside, and those of theirs that are read outside, in graph order.

    A module's nodes are those at or below `path`, and nodes of unknown path between two of them; `path` may be a
    pattern of the shell's kind for several modules ("model.[0-9]"). What depends on no
    input of the graph is a constant, and is neither. Raises ExportError where the module has no nodes.
    """
    graph = model.graph
    own = [_at_or_below(module_path(node), path) for node in graph.node]
    if not any(own):
        raise ExportError(_absent(graph, path))
    between = _between(graph.node, own)
    varying = _varying(graph)
    inside = [node for node, ours, among in zip(graph.node, own, between, strict=True) if ours or among]
    outside = [node for node, ours, among in zip(graph.node, own, between, strict=True) if not (ours or among)]
    made = [name for node in inside for name in node.output if name in varying]
    read = {name for node in outside for name in reads(node)} | {value.name for value in graph.output}
    inputs = dict.fromkeys(name for node in inside for name in reads(node) if name in varying - set(made))
    return list(inputs), [name for name in made if name in read]


def _at_or_below(found: str | None, path: str) -> bool:
    return found is not None and (path == "" or any(fnmatchcase(part, path) for part in _with_parents(found)))


def _between(nodes: Sequence[onnx.NodeProto], own: Sequence[bool]) -> list[bool]:
    """Which nodes of unknown path have the module's before and behind them, through nodes of unknown path alone."""
    unknown = [module_path(node) is None for node in nodes]
    behind, made = [], set[str]()
    for node, ours, open_ in zip(nodes, own, unknown, strict=True):
        behind.append(open_ and not made.isdisjoint(reads(node)))
        if ours or behind[-1]:
            made.update(node.output)
    before, read = [], set[str]()
    for node, ours, open_ in zip(reversed(nodes), reversed(own), reversed(unknown), strict=True):
        before.append(open_ and not read.isdisjoint(node.output))
        if ours or before[-1]:
            read.update(reads(node))
    return [both == (True, True) for both in zip(behind, reversed(before), strict=True)]


def _varying(graph: onnx.GraphProto) -> set[str]:
    """The values that depend on an input of the graph."""
    found = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        if not found.isdisjoint(reads(node)):
            found.update(filter(None, node.output))
    return found


def _absent(graph: onnx.GraphProto, path: str) -> str:
    there = {module_path(node) for node in graph.node} - {None}
    if not there:
        return (
            f"extract_submodel: no node has a module path ({MODULE}), which our exports write; give inputs and outputs"
        )
    known = sorted({part for found in there if found for part in _with_parents(found)})
    return f'extract_submodel: no node is left of a module "{path}"; {nearest(path, known)}'


def _with_parents(path: str) -> Iterator[str]:
    atoms = path.split(".")
    yield from (".".join(atoms[:count]) for count in range(1, len(atoms) + 1))
