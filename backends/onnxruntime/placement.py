"""The nodes of a graph that a GPU's provider left to the CPU: it does so in silence, and copies tensors to and fro."""

from collections.abc import Mapping, Sequence
from typing import Any

from backends.self_test.proof import warn_once

CPU = "CPUExecutionProvider"
SHOWN = 3  # names of nodes of one operator
SIZES = frozenset(
    [
        *("Shape", "Size", "Gather", "Concat", "Unsqueeze", "Squeeze", "Slice", "Reshape", "Range", "ConstantOfShape"),
        *("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Floor", "Ceil", "Cast", "ReduceProd", "Expand", "Where"),
        *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or", "Identity", "Constant"),
    ]
)
"""Operators that compute sizes from sizes. ONNX Runtime keeps such nodes on the CPU on purpose, where they are quicker:
GetCpuPreferredNodes in its fallback_cpu_capability.cc. One of them that computes something else is not seen."""


def warn_of_cpu_nodes(session: Any, provider: str) -> None:
    """Log once which nodes the session left to the CPU, though `provider`, ONNX Runtime's own name, was asked for.

    `session`: opened with "session.record_ep_graph_assignment_info".
    """
    left = nodes_on_cpu(session)
    if left:
        kinds = "; ".join(f"{len(names)} {operator} ({_some(names)})" for operator, names in left.items())
        warn_once(
            f"{provider} has no kernel for some nodes, which run on the CPU, their tensors copied there and back in "
            f"each run: {kinds}"
        )


def nodes_on_cpu(session: Any) -> Mapping[str, Sequence[str]]:
    """Operator -> the names of its nodes that are on the CPU, in graph order; but for those that compute sizes."""
    left: dict[str, list[str]] = {}
    for subgraph in session.get_provider_graph_assignment_info():
        for node in subgraph.get_nodes() if subgraph.ep_name == CPU else ():
            if node.op_type not in SIZES:
                left.setdefault(node.op_type, []).append(node.name)
    return left


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
