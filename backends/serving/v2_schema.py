"""The bodies of the Open Inference Protocol, version 2, as JSON Schema and as OpenAPI describes an operation."""

from typing import Any

from backends.serving.protocol import DTYPES, FILE
from backends.serving.v2_http import BINARY, HEADER, JSON, NAME, RANK

Schema = dict[str, Any]

_NAME: Schema = {"type": "string", "maxLength": NAME}
_SHAPE: Schema = {"type": "array", "maxItems": RANK, "items": {"type": "integer", "minimum": 0}}
_DATATYPE: Schema = {"enum": sorted(DTYPES.values())}
_DATA: Schema = {"description": "the numbers or truth values, flat or nested; left out in binary form"}
_BYTES: Schema = {
    "type": "object",
    "properties": {"binary_data_size": {"type": "integer", "minimum": 0}},
    "description": f"binary_data_size: the tensor follows the JSON as so many bytes, and {HEADER} is set",
}
_TENSOR: Schema = {
    "type": "object",
    "required": ["name", "shape", "datatype"],
    "properties": {"name": _NAME, "shape": _SHAPE, "datatype": _DATATYPE, "data": _DATA, "parameters": _BYTES},
}
_WANTED: Schema = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _NAME,
        "parameters": {"type": "object", "properties": {"binary_data": {"type": "boolean"}}},
    },
}

REQUEST: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "inputs": {
            "type": "array",
            "items": _TENSOR,
            "description": f'"{FILE}", UINT8 [1, bytes]: the content of one file, such as a JPEG; and settings, '
            "by name, of one number each",
        },
        "outputs": {"type": "array", "items": _WANTED, "description": "those that are wanted; left out: all"},
        "parameters": {"type": "object", "properties": {"binary_data_output": {"type": "boolean"}}},
    },
}
"""The JSON of a request."""
ANSWER: Schema = {
    "type": "object",
    "required": ["model_name", "outputs"],
    "properties": {
        "model_name": {"type": "string"},
        "id": {"type": "string"},
        "outputs": {"type": "array", "items": _TENSOR},
    },
}
"""The JSON of an answer."""
ERROR: Schema = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
"""The JSON of a refusal: one line that says what was expected."""
METADATA: Schema = {
    "type": "object",
    "required": ["name", "platform", "inputs", "outputs"],
    "properties": {
        "name": {"type": "string"},
        "platform": {"type": "string"},
        **{
            side: {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "datatype", "shape"],
                    "properties": {
                        "name": _NAME,
                        "datatype": _DATATYPE,
                        "shape": {"type": "array", "items": {"type": "integer", "minimum": -1}},
                    },
                },
            }
            for side in ("inputs", "outputs")
        },
    },
}
"""The JSON that describes a model; -1 is a side of any size."""

_BINARY: Schema = {"schema": {"type": "string", "format": "binary"}}
_EXAMPLE = {
    "inputs": [
        {"name": FILE, "shape": [1, 48211], "datatype": "UINT8", "parameters": {"binary_data_size": 48211}},
    ],
    "parameters": {"binary_data_output": True},
}


def _json(description: str, schema: Schema) -> Schema:
    return {"description": description, "content": {JSON: {"schema": schema}}}


_UNKNOWN: Schema = {"404": _json("no model of this name", ERROR)}
DESCRIBE: Schema = {"responses": {"200": _json("the model", METADATA), **_UNKNOWN}}
"""The operation that describes a model."""
INFER: Schema = {
    "parameters": [
        {
            "name": HEADER,
            "in": "header",
            "required": False,
            "schema": {"type": "integer"},
            "description": "the bytes of JSON in front of binary tensors",
        }
    ],
    "requestBody": {
        "required": True,
        "content": {JSON: {"schema": REQUEST, "example": _EXAMPLE}, BINARY: _BINARY},
    },
    "responses": {
        "200": {"description": "the outputs", "content": {JSON: {"schema": ANSWER}, BINARY: _BINARY}},
        "400": _json("a request or an image that cannot be taken", ERROR),
        **_UNKNOWN,
        "408": _json("a body that did not arrive in time", ERROR),
        "422": _json("an image that the runtime cannot compute", ERROR),
        "503": {"description": "as many requests wait as the queue holds; send it again later"},
    },
}
"""The operation that runs a model."""
