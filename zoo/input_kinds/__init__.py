"""What a model takes: how inputs are read, checked and batched, and which tensors the graph gets.

One folder for each kind, found by its place. A task names its kind (zoo.tasks.Task.input_kind).
"""

from zoo.input_kinds.input_kind import MAX_BYTES, InputKind
from zoo.input_kinds.registry import input_axes, input_kind, kind_of_inputs, register_input_kind

__all__ = ["MAX_BYTES", "InputKind", "input_axes", "input_kind", "kind_of_inputs", "register_input_kind"]
