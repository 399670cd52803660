"""What OpenVINO compiled, kept in a folder that the user names, so that the next load is quick.

<folder>/openvino-<version>/<key>.blob; the key is made of the model's hash, of the code that changes it before, of the
device and all settings. A file begins with the hash of the rest, is written whole, and is compiled again where anything
does not fit: two processes may use a folder at the same time. What was not used for longest goes when the files
together are above MOST_BYTES.
"""

import contextlib
import hashlib
import io
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openvino

from zoo.files.writing import write_whole

MOST_BYTES = 2**30
DIGEST_BYTES = 32

logger = logging.getLogger(__name__)


class CompiledCache:
    """The folder's place for one model. ``model_key``: what tells its content, of all files that it reads, and what is
    done to it before it is compiled.

    A process that can write into the folder can change what runs: it must be as trusted as the deployment.
    """

    def __init__(self, folder: Path, model_key: str) -> None:
        self._folder = folder / f"openvino-{openvino.get_version().replace('/', '_')}"
        self._model_key = model_key

    def read(self, core: openvino.Core, device: str, properties: Mapping[str, Any]) -> openvino.CompiledModel | None:
        """What was kept; None where there is nothing, or it does not fit."""
        path = self._path(core, device, properties)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[DIGEST_BYTES:]).digest() != content[:DIGEST_BYTES]:
            return None
        try:
            model = core.import_model(io.BytesIO(content[DIGEST_BYTES:]), device, dict(properties))
        except RuntimeError as error:
            logger.warning("%s: compiled again, because OpenVINO does not take it: %s", path, _line(error))
            return None
        with contextlib.suppress(OSError):  # a folder that may only be read
            os.utime(path)
        return model

    def keep(
        self, model: openvino.CompiledModel, core: openvino.Core, device: str, properties: Mapping[str, Any]
    ) -> None:
        """Write it; where that cannot be done, a warning says so, and the next load compiles again."""
        path = self._path(core, device, properties)
        try:
            blob = model.export_model().getvalue()
            if len(blob) + DIGEST_BYTES > MOST_BYTES:
                return
            write_whole(path, hashlib.sha256(blob).digest() + blob, make_folders=True)
            self._make_room(path)
        except (OSError, RuntimeError) as error:
            logger.warning("%s: not kept, and each load compiles it: %s", path, _line(error))

    def _path(self, core: openvino.Core, device: str, properties: Mapping[str, Any]) -> Path:
        known = {"model": self._model_key, "device": device, "settings": {k: str(v) for k, v in properties.items()}}
        for name in core.available_devices:  # AUTO takes any of them
            known[name] = [
                str(core.get_property(name, key)) for key in ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES")
            ]
        key = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
        return self._folder / f"{key[:48]}.blob"

    def _make_room(self, newest: Path) -> None:
        """Of all versions, an earlier one's, too. Another process may remove the same files meanwhile."""
        files = []
        for path in self._folder.parent.glob("openvino-*/*.blob"):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                files.append((path == newest, status.st_mtime, status.st_size, path))
        total = sum(size for _, _, size, _ in files)
        for is_newest, _, size, path in sorted(files):
            if total <= MOST_BYTES or is_newest:
                break
            path.unlink(missing_ok=True)
            total -= size


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
