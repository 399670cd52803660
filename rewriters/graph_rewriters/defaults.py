"""Inputs that have defaults: initializers of the same name, which libraries that edit graphs make constants of."""

import onnx

from zoo.errors import ExportError


def check_no_defaults(model: onnx.ModelProto) -> None:
    """Raises ExportError for a graph whose inputs have defaults."""
    initializers = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in initializers:
            raise ExportError(f"input {value.name} has a default value, which would become a constant; remove either")
