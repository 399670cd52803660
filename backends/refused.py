"""What a backend does not take of a graph."""

from collections.abc import Mapping
from pathlib import Path

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


def check_int8(title: str, path: Path, counts: Mapping[str, int], cure: str) -> None:
    """Raise NothingComputedError unless layers compute in int8.

    `title`: the backend's, in prose. `counts`: how many layers compute in which dtype. `cure`: the rest of the message.
    """
    if not counts.get("int8"):
        stays = ", ".join(f"{count} layers in {dtype}" for dtype, count in counts.items())
        raise NothingComputedError(
            f"{path}: precision int8 was asked for, and {title} computes nothing in int8 ({stays}){cure}"
        )
