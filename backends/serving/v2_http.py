"""The Open Inference Protocol, version 2, over HTTP: JSON, and its extension for binary tensors. The server's side."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.serving.protocol import DTYPES
from zoo.errors import InputError, nearest
from zoo.files.json_object import json_object
from zoo.input_kinds import MAX_BYTES
from zoo.printable import printable

HEADER = "Inference-Header-Content-Length"
"""The number of bytes of JSON at the beginning of a body. Binary tensors follow. Without it, all of a body is JSON."""
JSON, BINARY = "application/json", "application/octet-stream"
CURE = "send what the protocol describes"
RANK, NAME = 8, 200  # axes of a tensor, characters of its name: more than any model has
MAX_JSON = 2**22
"""Bytes of the JSON of a request. As Python objects they are up to 37 times as many, about a file of MAX_BYTES."""
MAX_NUMBERS = 2**22
"""Numbers of an answer as JSON. As Python objects and as text they take up to 60 bytes each."""
NUMPY = {protocol: name for name, protocol in DTYPES.items()}

Array = NDArray[Any]


@dataclass(frozen=True)
class V2Request:
    """``inputs``: by name. ``outputs``: name -> whether it is wanted in binary form; empty: all of them are wanted.

    ``is_binary``: the form of outputs that the request does not name.
    """

    id: str
    inputs: Mapping[str, Array]
    outputs: Mapping[str, bool]
    is_binary: bool


def parse_request(body: bytes, json_bytes: str | None) -> V2Request:
    """``json_bytes``: the value of HEADER. Raises InputError for what is no request."""
    end = len(body) if json_bytes is None else _header(json_bytes, len(body))
    if end > MAX_JSON:
        raise InputError(
            f"the request: {end} bytes of JSON, expected at most {MAX_JSON}; send the file as a binary tensor, and "
            f"{HEADER} with the length of the JSON"
        )
    fields = json_object(body[:end], "the request", CURE)
    binary = memoryview(body)[end:]
    inputs: dict[str, Array] = {}
    for tensor in _objects(fields, "inputs"):
        name = _name(tensor, "inputs")
        if name in inputs:
            raise InputError(f'the request: input "{name}" is there twice; {CURE}')
        inputs[name], binary = _array(name, tensor, binary)
    if len(binary):
        raise InputError(f"the request: {len(binary)} bytes behind the last binary tensor; {CURE}")
    is_binary = _parameters(fields).get("binary_data_output") is True
    outputs = {
        _name(each, "outputs"): _parameters(each).get("binary_data", is_binary) is True
        for each in _objects(fields, "outputs")
    }
    return V2Request(str(fields.get("id", "")), inputs, outputs, is_binary)


def response_body(model: str, request: V2Request, arrays: Mapping[str, Array]) -> tuple[bytes, int | None]:
    """The body of an answer with the requested arrays, and the value of HEADER; None where there is no binary tensor.

    Raises InputError for an output that is not in ``arrays``, and for numbers that JSON does not have, or too many.
    """
    described: list[dict[str, Any]] = []
    parts: list[bytes] = []
    numbers = 0  # that are written as JSON
    for name, is_binary in (request.outputs or dict.fromkeys(arrays, request.is_binary)).items():
        if name not in arrays:
            raise InputError(f'the request: unknown output "{name}"; {nearest(name, arrays)}')
        array = arrays[name]
        tensor: dict[str, Any] = {"name": name, "shape": list(array.shape), "datatype": DTYPES[array.dtype.name]}
        if is_binary:
            parts.append(array.tobytes())
            tensor["parameters"] = {"binary_data_size": array.nbytes}
        else:
            numbers += array.size
            if numbers > MAX_NUMBERS:
                raise InputError(
                    f'output "{name}" has {array.size} numbers, expected at most {MAX_NUMBERS} as JSON in an answer; '
                    "ask for it with binary_data"
                )
            tensor["data"] = _numbers(name, array)
        described.append(tensor)
    head = json.dumps({"model_name": model, "id": request.id, "outputs": described}).encode()
    return head + b"".join(parts), len(head) if parts else None


def error_body(message: str) -> bytes:
    """The body of a refusal. `message` may quote the request: what would act on a terminal is escaped."""
    return json.dumps({"error": printable(message)}).encode()


def _header(value: str, largest: int) -> int:
    if not (value.isdecimal() and len(value) <= len(str(largest)) and int(value) <= largest):
        raise InputError(f"{HEADER}: {value[:20]}, expected at most {largest}, the bytes of the body; {CURE}")
    return int(value)


def _array(name: str, tensor: Mapping[str, Any], binary: memoryview) -> tuple[Array, memoryview]:
    """An input, and the binary tensors that follow it."""
    where = f'the request: input "{name}"'
    dtype, shape = NUMPY.get(str(tensor.get("datatype"))), tensor.get("shape")
    if dtype is None:
        raise InputError(f"{where}: datatype {str(tensor.get('datatype'))[:60]}, expected {', '.join(NUMPY)}")
    if not isinstance(shape, list) or len(shape) > RANK or not all(type(side) is int for side in shape):
        raise InputError(f"{where}: shape {str(shape)[:60]}, expected a list of at most {RANK} integers")
    if not all(0 <= side <= MAX_BYTES for side in shape):
        raise InputError(f"{where}: shape {str(shape)[:60]}, expected sides of 0 to {MAX_BYTES}")
    if prod(filter(None, shape)) > MAX_BYTES:  # numpy itself cannot hold the sides of an empty one
        raise InputError(f"{where}: shape {str(shape)[:60]}, expected {MAX_BYTES} numbers at most")
    if (size := _parameters(tensor).get("binary_data_size")) is not None:
        expected = prod(shape) * np.dtype(dtype).itemsize
        if size != expected or expected > len(binary):
            got = f"binary_data_size {str(size)[:20]}, {len(binary)} bytes left"
            raise InputError(f"{where}: {got}; expected {expected} by its shape")
        return np.frombuffer(binary[:expected], dtype).reshape(shape), binary[expected:]
    array = _from_numbers(where, tensor.get("data"), dtype)
    if array.size != prod(shape):
        raise InputError(f"{where}: {array.size} numbers in data, expected {prod(shape)} by its shape")
    return array.reshape(shape), binary


def _from_numbers(where: str, data: object, dtype: str) -> Array:
    """Raises InputError where `data` is not numbers or truth values that `dtype` can hold."""
    _check_numbers(where, data, dtype)
    try:
        values = np.array(data)
        with np.errstate(all="ignore"):
            array = values.astype(dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{where}: data is no array ({error}); {CURE}") from error
    if values.dtype.kind not in "biuf" or (array.dtype.kind != "f" and not np.array_equal(array, values)):
        raise InputError(f"{where}: data has what is no {dtype}; {CURE}")
    return array


def _check_numbers(where: str, data: object, dtype: str) -> None:
    """Raises InputError where `data` is missing, or has what is no number: numpy makes all texts as long as one."""
    if data is None:
        raise InputError(f"{where}: neither data nor binary_data_size; {CURE}")
    waiting: list[list[Any]] = [data] if isinstance(data, list) else [[data]]
    while waiting:
        values = waiting.pop()
        kinds = set(map(type, values))
        if not kinds <= {int, float, bool, list}:
            raise InputError(f"{where}: data has what is no {dtype}; {CURE}")
        if list in kinds:
            waiting.extend(value for value in values if isinstance(value, list))


def _numbers(name: str, array: Array) -> list[Any]:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f'output "{name}" has infinite numbers, which JSON has not; ask for it with binary_data')
    return array.ravel().tolist()


def _objects(fields: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    values = fields.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise InputError(f"the request: {key}: expected a list of objects; {CURE}")
    return values


def _name(tensor: Mapping[str, Any], key: str) -> str:
    name = tensor.get("name")
    if not isinstance(name, str) or len(name) > NAME:
        raise InputError(f"the request: {key}: one has no name of at most {NAME} characters; {CURE}")
    return name


def _parameters(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters = fields.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InputError(f"the request: parameters: expected an object; {CURE}")
    return parameters
