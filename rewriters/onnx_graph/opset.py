"""The standard operators' domain, and their version in a model."""

import onnx

STANDARD = ("", "ai.onnx")  # both names are in use


def opset_of(model: onnx.ModelProto) -> int:
    """The version of the standard operators; 0 where the model names none."""
    return next((entry.version for entry in model.opset_import if entry.domain in STANDARD), 0)


def add_domain(model: onnx.ModelProto, domain: str) -> None:
    """Name a domain of custom operators, once, in place."""
    if domain not in (entry.domain for entry in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(domain, 1))
