"""Which inputs and outputs of an operator may be fp16, by the ONNX standard."""

from collections.abc import Iterator, Sequence

import onnx

from rewriters.onnx_graph.opset import STANDARD

HALF = "tensor(float16)"


class Ports:
    """What the standard says of one node's inputs and outputs, in the opset of its model."""

    def __init__(self, node: onnx.NodeProto, opset: int) -> None:
        known = node.domain in STANDARD and onnx.defs.has(node.op_type, opset, "")
        schema = onnx.defs.get_schema(node.op_type, opset, "") if known else None
        self.inputs = list(_kinds(node.input, schema.inputs)) if schema else []
        self.outputs = list(_kinds(node.output, schema.outputs)) if schema else []

    def castable(self) -> list[int]:
        """Places of inputs that may be fp16: not the scales of a Resize, nor the boxes of a NonMaxSuppression."""
        return [place for place, _, half in self.inputs if half]

    def following(self) -> list[int]:
        """Places of outputs that are fp16 as soon as the inputs are: not that of a Cast or of a ConstantOfShape."""
        leading = {kind for _, kind, half in self.inputs if half}
        return [place for place, kind, half in self.outputs if half and kind in leading]


def _kinds(
    names: Sequence[str], parameters: Sequence[onnx.defs.OpSchema.FormalParameter]
) -> Iterator[tuple[int, str, bool]]:
    """(place, name of its type in the standard, whether that may be fp16); the last parameter may repeat."""
    for place, name in enumerate(names):
        parameter = parameters[min(place, len(parameters) - 1)]
        if name:
            yield place, parameter.type_str, HALF in parameter.types
