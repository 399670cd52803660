"""Inputs that may be left out, for a runtime that knows none: their values in the file are taken away.

An ONNX graph's input has a default where an initialiser has its name. OpenVINO takes such an input for a constant, and
whatever is fed changes nothing. The default is in the manifest, too, and every call gives it.
"""

from backends.protobuf import MESSAGE, field_bytes, fields

GRAPH = 7  # of a ModelProto
INITIALIZER, INPUT = 5, 11  # of a GraphProto
TENSOR_NAME, VALUE_NAME = 8, 1


def with_free_inputs(content: bytes) -> bytes:
    """The ONNX file's bytes without initialisers of inputs; the same bytes where there are none.

    Raises ValueError or IndexError where the bytes are no protobuf message.
    """
    model = list(fields(memoryview(content)))
    graph = [field for field in model if field.number == GRAPH and field.kind == MESSAGE]
    parts = [list(fields(field.content)) for field in graph]
    inputs = {_name(part.content, VALUE_NAME) for each in parts for part in each if part.number == INPUT}
    kept = [
        [part for part in each if part.number != INITIALIZER or _name(part.content, TENSOR_NAME) not in inputs]
        for each in parts
    ]
    if kept == parts:
        return content
    graphs = iter([b"".join(bytes(part.encoded) for part in each) for each in kept])
    return b"".join(
        field_bytes(GRAPH, next(graphs)) if field.number == GRAPH and field.kind == MESSAGE else bytes(field.encoded)
        for field in model
    )


def _name(message: memoryview, number: int) -> bytes:
    return next((bytes(field.content) for field in fields(message) if field.number == number), b"")
