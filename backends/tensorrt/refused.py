"""TensorRT does not take a graph."""

from zoo.errors import ExportError


class EngineRefusedError(ExportError):
    """TensorRT's parser or builder refused the graph.

    `node` and `operator`: the ONNX node's name and type where TensorRT tells them, else None. `reason`: its words.
    """

    def __init__(self, node: str | None, operator: str | None, reason: str) -> None:
        self.node = node
        self.operator = operator
        self.reason = reason
        where = "" if node is None else f' at node "{node}"'
        kind = "" if operator is None else f" ({operator})"
        super().__init__(f"TensorRT refused the graph{where}{kind}: {reason}")
