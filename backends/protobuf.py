"""The fields of a protobuf message, read and written without a library for it."""

from collections.abc import Iterator
from typing import NamedTuple

VARINT, EIGHT_BYTES, MESSAGE, FOUR_BYTES = 0, 1, 2, 5  # protobuf's kinds of fields
LAST_BYTE = 0x80  # below it a byte is the last of a number


class Field(NamedTuple):
    """``content``: of a message or text, its bytes; else those of the number. ``encoded``: all of the field."""

    number: int
    kind: int
    content: memoryview
    encoded: memoryview


def fields(message: memoryview) -> Iterator[Field]:
    """Each field, in order. Raises IndexError or ValueError for what is no message."""
    place = 0
    while place < len(message):
        begin = place
        tag, place = _number(message, place)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            start = place
            _, place = _number(message, place)
            yield Field(number, kind, message[start:place], message[begin:place])
            continue
        if kind not in (EIGHT_BYTES, MESSAGE, FOUR_BYTES):
            raise ValueError(f"a field of kind {kind}")
        length = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(kind, 0)
        if kind == MESSAGE:
            length, place = _number(message, place)
        if place + length > len(message):
            raise ValueError("it is cut off")
        yield Field(number, kind, message[place : place + length], message[begin : place + length])
        place += length


def field_bytes(number: int, content: bytes) -> bytes:
    """A field that holds bytes, as it is written."""
    return _encoded(number << 3 | MESSAGE) + _encoded(len(content)) + content


def _number(message: memoryview, place: int) -> tuple[int, int]:
    """A number of variable length, and the place after it."""
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & (LAST_BYTE - 1)) << shift
        shift += 7
        if byte < LAST_BYTE:
            return value, place


def _encoded(value: int) -> bytes:
    encoded = bytearray()
    while value >= LAST_BYTE:
        encoded.append(value & (LAST_BYTE - 1) | LAST_BYTE)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
