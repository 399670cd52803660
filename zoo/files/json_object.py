"""A JSON object from the bytes of a file, or an InputError that says what is wrong with them."""

import json
import math
from typing import Any

from zoo.errors import InputError

LARGEST = 2**63


def json_object(content: bytes, source: str, cure: str, *, strict: bool = False) -> dict[str, Any]:
    """The fields of a JSON object. `source` names the file in messages, which end in `cure`.

    `strict`: NaN and infinity, integers outside int64, a key that is there twice and half a character are faults,
    too. Raises InputError where the bytes are no JSON object.
    """
    try:
        fields = _strictly(content) if strict else json.loads(content)
    except (RecursionError, ValueError) as error:
        raise InputError(f"{source}: not a JSON file ({error}); {cure}") from error
    if not isinstance(fields, dict):
        raise InputError(f"{source}: got a JSON {type(fields).__name__}, expected an object; {cure}")
    return fields


def _strictly(content: bytes) -> Any:
    value = json.loads(content, parse_constant=_none, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once)
    json.dumps(value, ensure_ascii=False).encode()  # half a character has no bytes
    return value


def _none(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


def _whole(text: str) -> int:
    value = int(text)
    if not -LARGEST <= value < LARGEST:
        raise ValueError(f"{text[:20]}... is too large")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key appears twice")
    return fields
