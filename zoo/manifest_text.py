"""The bytes of deployment.json, which end in their own sha256: one changed bit anywhere is noticed.

{
  ... all fields, sorted
  "windows": ...,
  "manifest_sha256": "<sha256 of all bytes before the comma and the line break above this line>"
}
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from zoo.errors import InputError
from zoo.manifest_schema import DIGEST_KEY, SCHEMA_VERSION
from zoo.opened_file import COPY_AGAIN

LARGEST = 2**63
REDEPLOY = "deploy the model again with tools/deploy.py"
AFTER_AN_EDIT = (
    f"the file was edited or damaged after it was deployed: {COPY_AGAIN} (what may differ on this machine is an "
    "argument of backends.load: provider, threads)"
)
ENDING = re.compile(rb',\n  "' + DIGEST_KEY.encode() + rb'": "([0-9a-f]{64})"\n\}\n\Z')


def manifest_text(fields: Mapping[str, Any]) -> bytes:
    """The bytes of a manifest with these fields, the same for equal fields. A digest among the fields is replaced."""
    plain = {key: value for key, value in fields.items() if key != DIGEST_KEY}
    text = json.dumps(plain, sort_keys=True, indent=2, allow_nan=False, ensure_ascii=False)
    body = text.removesuffix("\n}").encode()
    return body + f',\n  "{DIGEST_KEY}": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def manifest_fields(content: bytes, source: str) -> dict[str, Any]:
    """The fields of a manifest's bytes, without the digest. `source` names the file in messages.

    Raises InputError where the digest does not fit the bytes, or is not there although the schema version has one, and
    where the bytes are no JSON object. Does not look at the fields: see Manifest.from_dict.
    """
    ending = ENDING.search(content)
    if ending is not None:
        digest = hashlib.sha256(content[: ending.start()]).hexdigest()
        if digest != ending[1].decode():
            raise InputError(
                f"{source}: its sha256 is {digest}, its last line says {ending[1].decode()}; {AFTER_AN_EDIT}"
            )
    try:
        fields = json.loads(
            content, parse_constant=_none, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once
        )
        json.dumps(fields, ensure_ascii=False).encode()  # half a character has no bytes
    except (RecursionError, ValueError) as error:
        raise InputError(f"{source}: not a JSON file ({error}); {REDEPLOY}") from error
    if not isinstance(fields, dict):
        raise InputError(f"{source}: got a JSON {type(fields).__name__}, expected an object; {REDEPLOY}")
    if ending is None and (DIGEST_KEY in fields or fields.get("schema_version") == SCHEMA_VERSION):
        raise InputError(f"{source}: does not end in {DIGEST_KEY}, its own sha256, as it was written; {AFTER_AN_EDIT}")
    return fields


def _none(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


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
        raise ValueError("a key is there twice")
    return fields
