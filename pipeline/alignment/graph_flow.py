"""Which tensors of a graph enter and leave each PyTorch module, by the module paths on its nodes."""

from collections.abc import Iterable, Iterator

import onnx

from rewriters.onnx_graph.module_paths import module_path
from rewriters.onnx_graph.reads import reads
from rewriters.onnx_graph.value_types import value_types

SIZES = ("Shape", "Size")
SEQUENCES = ("SequenceConstruct", "SplitToSequence", "SequenceInsert", "SequenceEmpty", "Optional")
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE)
NORM = "BatchNormalization"
CHOOSING = ("TopK", "NonMaxSuppression", "NonZero", "Compress", "Unique")


class GraphFlow:
    """Of the main graph. `entering` and `leaving`: module -> tensors in graph order; all depend on more of the
    inputs than their sizes.

    A tensor leaves every module around its node up to the first that also holds all its readers; it enters in the same
    way. `order`: the place of each tensor's node. `present`: modules with a node at or below them. `norms`: modules
    with a batch norm's node at them. `chosen`: tensors behind a choice by data. `contents`: those that depend on more
    of the inputs than their sizes. `floats`: those whose dtype is known to be one of floats.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.nodes = list(graph.node)
        self.paths = [module_path(node) for node in self.nodes]
        self.makers = {name: place for place, node in enumerate(self.nodes) for name in node.output if name}
        inputs = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
        self.varying = _following(graph, inputs)
        self.contents = _following(graph, inputs, SIZES)
        choices = (node for node in graph.node if node.op_type in CHOOSING)
        self.chosen = _following(graph, {name for node in choices for name in node.output}) & self.varying
        types = value_types(model).items()
        self.floats = {name for name, kind in types if kind.tensor_type.elem_type in FLOATS}
        self.ends = {value.name for value in graph.output}
        self.paths = self._filled()
        self.present = {name for path in set(self.paths) if path is not None for name in with_parents(path)}
        self.norms = {
            path for node, path in zip(self.nodes, self.paths, strict=True) if node.op_type == NORM and path is not None
        }
        self.entering: dict[str, list[str]] = {}
        self.leaving: dict[str, list[str]] = {}
        self._follow()

    def _filled(self) -> list[str | None]:
        """The paths, and for a node of unknown path the module around all that it reads and all that reads it.

        Graph rewriters add such nodes, casts above all; one behind which nothing is known is the contract's.
        """
        before, behind = list(self.paths), list(self.paths)
        readers: dict[str, list[int]] = {}
        inner = self.contents & self.makers.keys()
        for place, node in enumerate(self.nodes):
            for name in reads(node):
                readers.setdefault(name, []).append(place)
            if before[place] is None:
                made_in = [before[self.makers[name]] for name in reads(node) if name in inner]
                before[place] = _around(made_in)
        for place in reversed(range(len(self.nodes))):
            if behind[place] is None:
                outputs = self.nodes[place].output
                read_in = [behind[reader] for name in outputs for reader in readers.get(name, ())]
                behind[place] = None if self.ends.intersection(outputs) else _around(read_in)
        return [
            path if path is not None else _around([one, two])
            for path, one, two in zip(self.paths, before, behind, strict=True)
        ]

    def _follow(self) -> None:
        readers: dict[str, list[str | None]] = {}
        for node, path in zip(self.nodes, self.paths, strict=True):
            for name in dict.fromkeys(reads(node)):
                if name in self.contents:
                    readers.setdefault(name, []).append(path)
        for name in self.ends & self.contents:
            readers.setdefault(name, []).append(None)
        for name in sorted(readers, key=self.order):
            made_in = self._of_maker(name)
            around = list(with_parents(made_in)) if made_in is not None else []
            read_in = readers[name]
            for module in around:
                if any(path is None or not is_below(path, module) for path in read_in):
                    self.leaving.setdefault(module, []).append(name)
            inner = {module for path in read_in if path is not None for module in with_parents(path)}
            for module in inner - set(around):
                self.entering.setdefault(module, []).append(name)

    def order(self, name: str) -> int:
        """The place of the node that makes a tensor; the graph's inputs come first."""
        return self.makers.get(name, -1)

    def original(self, name: str) -> str:
        """The tensor of which this one is a cast to another precision, or what a pair of int8 gives; else itself.

        A pair with a module is a layer of its own: the Relu that it became.
        """
        while (place := self.makers.get(name)) is not None:
            node = self.nodes[place]
            before = self.makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
            if before is not None and self.nodes[before].op_type == "QuantizeLinear" and module_path(node) is None:
                name = self.nodes[before].input[0]
            elif node.op_type == "Cast" and {name, node.input[0]} <= self.floats:
                name = node.input[0]
            else:
                break
        return name

    def _of_maker(self, name: str) -> str | None:
        place = self.makers.get(name)
        if place is None or self.nodes[place].op_type in SEQUENCES:
            return None
        return self.paths[place]

    def behind(self, name: str, known: Iterable[str]) -> tuple[list[str], list[str]]:
        """What makes a tensor of the nearest `known` ones: those, and the modules of the nodes between, in order.

        The nodes of no known module are in between, too, and name none. A node that only asks for a size is not.
        """
        stops = set(known) - {name}
        reached: set[str] = set()
        places: set[int] = set()
        left = [name]
        while left:
            tensor = left.pop()
            place = self.makers.get(tensor)
            if place is None or place in places:
                continue
            places.add(place)
            for read in reads(self.nodes[place]):
                if read in stops:
                    reached.add(read)
                elif read in self.contents:
                    left.append(read)
        paths = (self.paths[place] for place in sorted(places))
        return sorted(reached, key=self.order), list(dict.fromkeys(path for path in paths if path is not None))

    def sources(self, names: Iterable[str], stops: set[str]) -> list[str]:
        """The inputs of the graph and the `stops` that these tensors are made of."""
        reached: set[str] = set()
        seen = set(names)
        left = list(seen)
        while left:
            place = self.makers.get(left.pop())
            for read in reads(self.nodes[place]) if place is not None else ():
                if read in stops or (read in self.varying and read not in self.makers):
                    reached.add(read)
                elif read in self.varying and read not in seen:
                    seen.add(read)
                    left.append(read)
        return sorted(reached, key=lambda name: (self.order(name), name))


def with_parents(path: str) -> Iterator[str]:
    """A path "a.b" -> "", "a", "a.b": the model itself is around all."""
    yield ""
    atoms = path.split(".") if path else []
    yield from (".".join(atoms[:count]) for count in range(1, len(atoms) + 1))


def _around(paths: list[str | None]) -> str | None:
    """The innermost module that is around all; None for none, or where one is not known."""
    if not paths or None in paths:
        return None
    shared = [name for name in with_parents(paths[0] or "") if all(is_below(path or "", name) for path in paths)]
    return shared[-1]


def is_below(path: str, module: str) -> bool:
    """Whether a module is another, or within it."""
    return not module or path == module or path.startswith(f"{module}.")


def _following(graph: onnx.GraphProto, start: set[str], but_through: tuple[str, ...] = ()) -> set[str]:
    """These values, and those that depend on one of them, but for those behind nodes of some types alone."""
    following = {name for name in start if name}
    for node in graph.node:
        if node.op_type not in but_through and not following.isdisjoint(reads(node)):
            following.update(filter(None, node.output))
    return following
