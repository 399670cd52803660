"""Which other files an ONNX file reads its weights from, found without the package onnx."""

import posixpath
from collections.abc import Container, Iterator, Mapping

from backends.protobuf import MESSAGE, fields
from zoo.errors import InputError
from zoo.opened_file import COPY_AGAIN, OpenedFile
from zoo.opened_folder import MANIFEST_FILE

LOCATION = b"location"

Message = Mapping[int, "Message"]
# fields of onnx.proto that lead to tensors, by their numbers; messages hold one another
_ENTRY: dict[int, Message] = {}
_TENSOR: Message = {13: _ENTRY}  # external_data
_SPARSE: Message = {1: _TENSOR, 2: _TENSOR}
_GRAPH: dict[int, Message] = {}
_ATTRIBUTE: Message = {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE}
_NODE: Message = {5: _ATTRIBUTE}
_GRAPH |= {1: _NODE, 5: _TENSOR, 15: _SPARSE}
_MODEL: Message = {7: _GRAPH, 20: {1: _GRAPH, 2: _GRAPH}, 25: {7: _NODE, 11: _ATTRIBUTE}}


def external_files(file: OpenedFile, listed: Container[str]) -> list[str]:
    """The names, as they are in the ONNX file. Raises InputError where it is damaged, or one is not among `listed`.

    Only a file in which the word "location" occurs is walked through: few do.
    """
    if not file.contains(LOCATION):
        return []
    for name in (names := _names(file)):
        if listed_name(name) not in listed:
            raise InputError(
                f"{file.path}: reads weights from {name!r}, which is not among the files of {MANIFEST_FILE}: nothing "
                f"shows whether it is what was deployed; {COPY_AGAIN}"
            )
    return names


def listed_name(name: str) -> str:
    """How the manifest names a file that an ONNX file calls `name`: without "./"."""
    return posixpath.normpath(name)


def _names(file: OpenedFile) -> list[str]:
    try:
        return sorted(set(_locations(memoryview(file.read()))))
    except (IndexError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        raise InputError(f"{file.path}: not an ONNX model, or a damaged one ({error}); {COPY_AGAIN}") from error


def _locations(content: memoryview) -> Iterator[str]:
    """Not recursive: a file may be as deep as it likes."""
    waiting = [(content, _MODEL)]
    while waiting:
        message, known = waiting.pop()
        if known is _ENTRY:
            entry = {field.number: bytes(field.content) for field in fields(message) if field.kind == MESSAGE}
            if entry.get(1) == LOCATION:
                yield entry.get(2, b"").decode()
            continue
        waiting += [
            (field.content, known[field.number])
            for field in fields(message)
            if field.kind == MESSAGE and field.number in known
        ]
