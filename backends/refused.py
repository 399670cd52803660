"""What a backend does not take of a graph."""

from zoo.errors import ExportError


class GraphRefusedError(ExportError):
    """A backend's parser or builder refused the graph.

    `title`: the backend's, in prose. `node` and `operator`: the ONNX node's name and type where they are known, else
    None. `reason`: its words.
    """

    def __init__(self, title: str, node: str | None, operator: str | None, reason: str) -> None:
        self.title = title
        self.node = node
        self.operator = operator
        self.reason = reason
        where = "" if node is None else f' at node "{node}"'
        kind = "" if operator is None else f" ({operator})"
        super().__init__(f"{title} refused the graph{where}{kind}: {reason}")


class NothingComputedError(ExportError):
    """int8 was asked for, and the backend computes nothing in it. The graph itself may be good."""
