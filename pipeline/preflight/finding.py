"""What the preflight found: a row of the table, and the nodes that it is about."""

from dataclasses import dataclass
from typing import Any

import onnx

from backends.preflight import Row
from rewriters.onnx_graph.module_paths import module_path

SHOWN = 3  # nodes in one line


@dataclass(frozen=True)
class FoundNode:
    """`module`: the PyTorch module that it comes from, "" for the model itself, None where that is not known."""

    name: str
    operator: str
    module: str | None

    @classmethod
    def of(cls, node: onnx.NodeProto) -> "FoundNode":
        """A node without a name is known by its first output."""
        name = node.name or next(filter(None, node.output), "")
        return cls(name, f"{node.domain}::{node.op_type}" if node.domain else node.op_type, module_path(node))

    def __str__(self) -> str:
        return f'{self.operator} "{self.name}"' + (f" of module {self.module}" if self.module else "")


@dataclass(frozen=True)
class Finding:
    """`nodes`: in graph order, one or more. `versions`: of the target's backend."""

    row: Row
    nodes: tuple[FoundNode, ...]
    backend: str

    @property
    def action(self) -> str:
        """refuse, warn or rewrite."""
        return self.row.action

    @property
    def versions(self) -> str:
        """Those that it was seen on."""
        return self.row.versions[self.backend]

    def __str__(self) -> str:
        more = len(self.nodes) - SHOWN
        nodes = ", ".join(map(str, self.nodes[:SHOWN])) + (f" and {more} more" if more > 0 else "")
        return f"{nodes}: {self.row.why} ({self.backend} {self.versions}; {self.row.source}); {self.row.cure}"

    def to_dict(self) -> dict[str, Any]:
        """For records: as JSON takes it."""
        row = self.row
        return {
            "row": row.name,
            "action": row.action,
            "nodes": [{"name": node.name, "operator": node.operator, "module": node.module} for node in self.nodes],
            "why": row.why,
            "cure": row.cure,
            "versions": self.versions,
            "source": row.source,
        }
