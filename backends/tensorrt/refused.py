"""TensorRT does not take a graph."""

from backends.refused import GraphRefusedError


class EngineRefusedError(GraphRefusedError):
    """TensorRT's parser or builder refused the graph. Its fields: see GraphRefusedError."""

    def __init__(self, node: str | None, operator: str | None, reason: str) -> None:
        super().__init__("TensorRT", node, operator, reason)
