"""Writing ONNX nodes from Python, for both exporters at once: names and protobuf are its business."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
from numpy.typing import DTypeLike

from zoo.errors import ExportError, nearest

BOOL, FLOAT, INT64 = onnx.TensorProto.BOOL, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
UINT8 = onnx.TensorProto.UINT8

FLOATING = (FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


@dataclass
class GraphBuilder:
    """Collects nodes; values are names. ``b.Mul(x, y)`` adds a node and gives its result; keywords are attributes.

    The names of all values begin with `prefix`. `ranks` and `kinds`: of the values whose number of axes, and
    whose dtype (a TensorProto's), the exporter knows.
    """

    prefix: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    ranks: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        if not op_type[:1].isupper():
            raise AttributeError(op_type)
        return partial(self.node, op_type)

    def node(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; the name of its result, or a list of names where there are several outputs.

        Raises ExportError for an operator that ONNX does not have.
        """
        if not attributes.get("domain") and not onnx.defs.has(op_type):
            known = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
            raise ExportError(f'ONNX has no operator "{op_type}"; {nearest(op_type, sorted(known))}')
        number = len(self.nodes)
        names = [f"{self.prefix}/{op_type}_{number}" + (f":{index}" if index else "") for index in range(outputs)]
        self.nodes.append(onnx.helper.make_node(op_type, inputs, names, names[0], **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any, dtype: DTypeLike = np.int64) -> str:
        """A constant of any shape."""
        name: str = self.Constant(value=onnx.numpy_helper.from_array(np.asarray(value, dtype=dtype)))
        return name

    def size(self, value: str, axis: int) -> str:
        """The size of one axis, int64 []."""
        name: str = self.Gather(self.Shape(value), self.constant(axis))
        return name

    def integral(self, value: str) -> bool:
        """Whether a tensor is known to hold whole numbers or bools, for which ONNX has fewer operators."""
        return value in self.kinds and self.kinds[value] not in FLOATING

    def loop(
        self,
        trips: str,
        start: Sequence[str],
        kinds: Sequence[int],
        body: Callable[..., tuple[Sequence[str], str]],
        first: str = "",
    ) -> list[str]:
        """A Loop of at most `trips` (int64 []) turns.

        `body(inner, turn, *state)` gives (results, go_on): the next state, in the order of `start`, and after it what
        is stacked over the turns; go_on is a bool [], or "" for a loop of exactly `trips` turns. `kinds` are the
        dtypes of the results. `first`: whether there is a first turn, bool [], where `go_on` is one; by itself there
        is. Returns the last state, then the stacks.
        """
        inner = GraphBuilder(f"{self.prefix}/{len(self.nodes)}")
        turn, before = f"{inner.prefix}/turn", f"{inner.prefix}/go_on"
        state = [f"{inner.prefix}/state_{index}" for index in range(len(start))]
        results, go_on = body(inner, turn, *state)
        condition = "" if not go_on else first or self.constant(True, np.bool_)
        after = inner.Identity(go_on) if go_on else inner.constant(True, np.bool_)
        passed = [inner.Identity(result) for result in results]  # a graph's outputs are its own nodes' and differ
        graph = onnx.helper.make_graph(
            inner.nodes,
            inner.prefix,
            [
                onnx.helper.make_tensor_value_info(turn, INT64, []),
                onnx.helper.make_tensor_value_info(before, BOOL, []),
                *(_unshaped(name, kind) for name, kind in zip(state, kinds, strict=False)),
            ],
            [
                onnx.helper.make_tensor_value_info(after, BOOL, []),
                *(_unshaped(name, kind) for name, kind in zip(passed, kinds, strict=True)),
            ],
        )
        output = self.node("Loop", trips, condition, *start, outputs=len(passed), body=graph)
        return [output] if len(passed) == 1 else list(output)


def _unshaped(name: str, kind: int) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, kind, None)
