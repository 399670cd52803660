"""The registry of what plugin nodes compute, in numpy."""

from typing import TypeVar

from onnx.reference.op_run import OpRun

PLUGIN_OPERATORS: dict[str, type[OpRun]] = {}
Kind = TypeVar("Kind", bound=type[OpRun])


def plugin_operator(kind: Kind) -> Kind:
    """A decorator: makes a node of a plugin known by its type, which is the class's name."""
    PLUGIN_OPERATORS[kind.__name__] = kind
    return kind
