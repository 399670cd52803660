"""The bytes of deployment.json, which end in their own sha256: one changed bit anywhere is noticed.

{
  ... all fields, sorted
  "windows": ...,
  "manifest_sha256": "<sha256 of all bytes before the comma and the line break above this line>"
}
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from zoo.errors import InputError
from zoo.files.json_object import json_object
from zoo.manifest_schema import DIGEST_KEY, SCHEMA_VERSION
from zoo.opened_file import COPY_AGAIN

REDEPLOY = "deploy the model again with zooport deploy"
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
    fields = json_object(content, source, REDEPLOY, strict=True)
    if ending is None and (DIGEST_KEY in fields or fields.get("schema_version") == SCHEMA_VERSION):
        raise InputError(f"{source}: does not end in {DIGEST_KEY}, its own sha256, as it was written; {AFTER_AN_EDIT}")
    return fields
