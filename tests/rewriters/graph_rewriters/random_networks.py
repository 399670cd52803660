"""Small random graphs as networks are: with pooling, resizing, softmax and loops, and no choice by what is computed."""

from collections.abc import Callable

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.rewriters.graph_rewriters.random_graphs import SIDE, Builder


class NetworkBuilder(Builder):
    """Grows by a layer as often as by anything else."""

    def makers(self) -> list[Callable[[], None]]:
        more = [self.conv, self.matmul, self.pool, self.resize, self.softmax, self.loop]
        return [*super().makers(), *more]

    def condition(self, _source: str) -> str:
        """A branch that turns on a rounded number would turn on the rounding."""
        return self.constant(np.array(self.draw(st.booleans())))

    def pool(self) -> None:
        if found := self.pick(lambda shape: len(shape) == 3 and min(shape[1:]) == SIDE):
            op = self.draw(st.sampled_from(["MaxPool", "AveragePool"]))
            out = self.node(op, [found[0]], kernel_shape=[2, 2], strides=[2, 2])
            self.add(out, (found[1][0], SIDE // 2, SIDE // 2))

    def resize(self) -> None:
        if found := self.pick(lambda shape: len(shape) == 3 and min(shape[1:]) >= 2):
            scales = self.constant(np.array([1, 1, 2, 2], np.float32))
            mode = self.draw(st.sampled_from(["nearest", "linear"]))
            out = self.node("Resize", [found[0], "", scales], mode=mode)
            self.add(out, (found[1][0], 2 * found[1][1], 2 * found[1][2]))

    def softmax(self) -> None:
        source, shape = self.pick() or ("x", self.values["x"])
        self.add(self.node("Softmax", [source], axis=-1), shape)

    def loop(self) -> None:
        """Three turns, each of which adds a value of the graph around to the state, and halves it."""
        source, shape = self.pick() or ("x", self.values["x"])
        turn, before, state, after, end, total = (self.name() for _ in range(6))
        half = self.constant(np.array(0.5, np.float32))
        body = helper.make_graph(
            [
                helper.make_node("Identity", [before], [after]),
                helper.make_node("Add", [state, source], [total]),
                helper.make_node("Mul", [total, half], [end]),
            ],
            "body",
            [
                helper.make_tensor_value_info(turn, TensorProto.INT64, []),
                helper.make_tensor_value_info(before, TensorProto.BOOL, []),
                helper.make_tensor_value_info(state, TensorProto.FLOAT, ["batch", *shape]),
            ],
            [
                helper.make_tensor_value_info(after, TensorProto.BOOL, []),
                helper.make_tensor_value_info(end, TensorProto.FLOAT, ["batch", *shape]),
            ],
        )
        trips = self.constant(np.array(3))
        self.add(self.node("Loop", [trips, "", source], body=body), shape)


@st.composite
def random_networks(draw: st.DrawFn) -> onnx.ModelProto:
    """x, z [batch, 2, 4, 4] -> one to four outputs."""
    builder = NetworkBuilder(draw)
    for _ in range(draw(st.integers(2, 8))):
        builder.grow()
    return builder.model()
