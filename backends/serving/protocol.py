"""The tensors that a server and its clients send each other, in the Open Inference Protocol, version 2.

A request has one input. Its content is that of a file, as `zooport predict` reads it: a JPEG, for example. The answer
has the arrays of the result by their names (boxes, scores ...), each with a batch axis of 1 in front.
"""

import json
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.files.json_object import json_object
from zoo.input_kinds import MAX_BYTES, InputKind
from zoo.manifest import Manifest

FILE = "file"
"""The input: the content of a file, uint8 [1, bytes]."""
DEPLOYMENT = "deployment"
"""An output that each model has: the manifest as JSON, uint8 [1, bytes]. The input is not read if it is the only one
that a request asks for."""

DTYPES = {"bool": "BOOL", "float16": "FP16", "float32": "FP32", "float64": "FP64"} | {
    name: name.upper() for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
"""numpy's name of a dtype -> the protocol's."""


def check_outputs(model: str, outputs: Iterable[str], taken: Collection[str] = (DEPLOYMENT,)) -> None:
    """Raise InputError for an output of the model that has the name of a tensor which the server itself has."""
    for name in outputs:
        if name in taken:
            raise InputError(
                f'{model}: output "{name}": a server has a tensor of its own with that name; '
                "give the output another name, and deploy again"
            )


def read_content(kind: InputKind, content: NDArray[np.uint8] | None) -> Any:
    """The input in the content of one file, uint8 [n] or [1, n].

    Raises InputError, without a name, as `kind.read` does; also for the contents of several files.
    """
    if content is not None and content.shape not in ((content.size,), (1, content.size)):
        raise InputError(
            f'the request: input "{FILE}": shape {list(content.shape)}, expected [1, bytes]; send one file in each '
            "request"
        )
    count = 0 if content is None else content.size
    if content is None or not 1 <= count <= MAX_BYTES:
        raise InputError(f"{kind.noun}: {count} bytes, expected the content of a file, 1 to {MAX_BYTES} bytes")
    return kind.decode(content.tobytes(), "of the request")


def read_setting(name: str, array: NDArray[Any]) -> float:
    """The number in an input beside the file. Raises InputError unless it has one number."""
    if array.size != 1:
        raise InputError(f'the request: input "{name}": {array.size} numbers, expected 1')
    number: float = array.item()
    return number


def manifest_content(manifest: Manifest) -> bytes:
    """The output DEPLOYMENT."""
    return json.dumps(manifest.to_dict()).encode()


def read_manifest(content: bytes, source: str) -> Manifest:
    """The inverse. Raises InputError where a server sends something else."""
    fields = json_object(content, f"{source}: its output {DEPLOYMENT}", "expected a manifest, see docs/serving.md")
    return Manifest.from_dict(fields, source)
