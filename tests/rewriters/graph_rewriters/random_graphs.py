"""Small random graphs with a dynamic batch, for property tests."""

from collections.abc import Callable

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

SIDE = 4
Shape = tuple[int, ...]  # without the batch
MAX_NUMBERS = 2000  # in a value, so that chains of Concat stay small


class Builder:
    """A graph that grows by one random node, or a few, at a time."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.chance = np.random.default_rng(draw(st.integers(0, 9)))
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.values: dict[str, Shape] = {"x": (2, SIDE, SIDE), "z": (2, SIDE, SIDE)}
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def node(self, op: str, inputs: list[str], **attributes: object) -> str:
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], f"{op}_{name}", **attributes))
        return name

    def constant(self, array: np.ndarray) -> str:
        """An initializer, a Constant node, or one behind an Identity."""
        kind = self.draw(st.sampled_from(["initializer", "node", "identity"]))
        name = self.name()
        tensor = numpy_helper.from_array(array, name)
        if kind == "node":
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
            return name
        self.initializers.append(tensor)
        return self.node("Identity", [name]) if kind == "identity" else name

    def numbers(self, *shape: int) -> str:
        return self.constant(self.chance.standard_normal(shape).astype(np.float32))

    def whole(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, dtype=np.int64))

    def pick(self, fits: Callable[[Shape], bool] = lambda _: True) -> tuple[str, Shape] | None:
        found = [item for item in self.values.items() if fits(item[1])]
        return self.draw(st.sampled_from(found)) if found else None

    def grow(self) -> None:
        """One more value, by an operator at random."""
        make = self.draw(st.sampled_from(self.makers()))
        make()

    def makers(self) -> list[Callable[[], None]]:
        plain = [self.unary, self.binary, self.conv, self.matmul, self.transpose, self.concat]
        return [*plain, self.flatten, self.slice, self.scaled, self.choice]

    def add(self, name: str, shape: Shape) -> None:
        if np.prod(shape) <= MAX_NUMBERS:
            self.values[name] = shape

    def unary(self) -> None:
        source, shape = self.pick() or ("x", self.values["x"])
        self.add(self.node(self.draw(st.sampled_from(["Relu", "Identity", "Identity", "Neg"])), [source]), shape)

    def binary(self) -> None:
        one, shape = self.pick() or ("x", self.values["x"])
        op = self.draw(st.sampled_from(["Add", "Mul"]))
        if self.draw(st.booleans()):
            two = self.node("Add", [self.numbers(shape[-1]), self.numbers(1)])
        else:
            two, _ = self.pick(lambda other: other == shape) or (one, shape)
        self.add(self.node(op, [one, two]), shape)

    def conv(self) -> None:
        if found := self.pick(lambda shape: len(shape) == 3 and min(shape[1:]) >= 3):
            out = self.node("Conv", [found[0], self.numbers(2, found[1][0], 3, 3)], pads=[1, 1, 1, 1])
            self.add(out, (2, *found[1][1:]))

    def matmul(self) -> None:
        source, shape = self.pick() or ("x", self.values["x"])
        self.add(self.node("MatMul", [source, self.numbers(shape[-1], 3)]), (*shape[:-1], 3))

    def transpose(self) -> None:
        if found := self.pick(lambda shape: len(shape) == 3):
            order = self.draw(st.sampled_from([(0, 1, 2, 3), (0, 2, 1, 3), (0, 1, 3, 2), (0, 3, 1, 2)]))
            out = self.node("Transpose", [found[0]], perm=order)
            self.add(out, tuple(found[1][axis - 1] for axis in order[1:]))

    def concat(self) -> None:
        one, shape = self.pick() or ("x", self.values["x"])
        if self.draw(st.booleans()):
            self.add(self.node("Concat", [one], axis=1), shape)
            return
        two, other = self.pick(lambda other: other[1:] == shape[1:] and len(other) == len(shape)) or (one, shape)
        self.add(self.node("Concat", [one, two], axis=1), (shape[0] + other[0], *shape[1:]))

    def flatten(self) -> None:
        """Reshape, to a constant shape or to one that is computed of the batch."""
        source, shape = self.pick() or ("x", self.values["x"])
        if self.draw(st.booleans()):
            to = self.whole(0, -1)
        else:
            batch = self.node("Gather", [self.node("Shape", [source]), self.whole(0)], axis=0)
            to = self.node("Concat", [batch, self.whole(-1)], axis=0)
        self.add(self.node("Reshape", [source, to]), (int(np.prod(shape)),))

    def slice(self) -> None:
        if found := self.pick(lambda shape: shape[0] > 1):
            source, shape = found
            out = self.node("Slice", [source, self.whole(1), self.whole(2**31), self.whole(1)])
            self.add(out, (shape[0] - 1, *shape[1:]))

    def scaled(self) -> None:
        """By a number that is computed of a shape: all of it, or its static axes only."""
        source, shape = self.pick() or ("x", self.values["x"])
        sizes = self.node("Shape", [source])
        if self.draw(st.booleans()):
            sizes = self.node("Slice", [sizes, self.whole(1), self.whole(9)])
        total = self.node("ReduceProd", [sizes], keepdims=0)
        factor = self.node("Div", [self.node("Cast", [total], to=TensorProto.FLOAT), self.numbers()])
        self.add(self.node("Div", [source, factor]), shape)

    def choice(self) -> None:
        """An If by a constant, or by what is in a value; its branches read values of the graph around."""
        source, shape = self.pick() or ("x", self.values["x"])
        condition = self.condition(source)
        branches = {
            "then_branch": self.branch(source, shape, "Identity"),
            "else_branch": self.branch(source, shape, "Neg"),
        }
        self.add(self.node("If", [condition], **branches), shape)

    def condition(self, source: str) -> str:
        if self.draw(st.booleans()):
            return self.constant(np.array(self.draw(st.booleans())))
        return self.node("Greater", [self.node("ReduceMax", [source], keepdims=0), self.numbers()])

    def branch(self, source: str, shape: Shape, op: str) -> onnx.GraphProto:
        """Adds a sum of constants, inside, to what an operator makes of a value outside."""
        first, second, together, end = (self.name() for _ in range(4))
        value = numpy_helper.from_array(self.chance.standard_normal(1).astype(np.float32), first)
        nodes = [
            helper.make_node("Constant", [], [second], value=numpy_helper.from_array(np.ones(1, np.float32))),
            helper.make_node("Add", [first, second], [together]),
            helper.make_node(op, [source], [f"{end}_in"]),
            helper.make_node("Add", [f"{end}_in", together], [end]),
        ]
        return helper.make_graph(nodes, op, [], [_declared(end, shape)], [value])

    def model(self) -> onnx.ModelProto:
        """With up to three of the values as outputs; an input among them comes through an Identity."""
        chosen = self.draw(st.lists(st.sampled_from(list(self.values)), min_size=1, max_size=3, unique=True))
        last = list(self.values)[-1]
        outputs = {}
        for value in dict.fromkeys([last, *chosen]):
            name = self.node("Identity", [value]) if value in ("x", "z") else value
            outputs[name] = self.values[value]
        graph = helper.make_graph(
            self.nodes,
            "random",
            [_declared(name, (2, SIDE, SIDE)) for name in ("x", "z")],
            [_declared(name, shape) for name, shape in outputs.items()],
            self.initializers,
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
        made.metadata_props.add(key="made", value="by chance")
        return made


def _declared(name: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])


@st.composite
def random_graphs(draw: st.DrawFn) -> onnx.ModelProto:
    """x, z [batch, 2, 4, 4] -> one to four outputs."""
    builder = Builder(draw)
    for _ in range(draw(st.integers(1, 8))):
        builder.grow()
    return builder.model()
