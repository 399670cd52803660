"""A deployment that answers requests of the Open Inference Protocol, version 2, whichever server brings them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backends.loading import load
from backends.serving.protocol import (
    DEPLOYMENT,
    DTYPES,
    FILE,
    check_outputs,
    manifest_content,
    read_content,
    read_setting,
)
from backends.serving.v2_http import V2Request, parse_request, response_body
from zoo.errors import InputError, nearest

Array = NDArray[Any]


class ServedModelSettings(NamedTuple):
    """`folder`: of the deployment. `image`: the content of a file for the first call, and for each check.

    `provider`, `threads`, `check`: as of `load`.
    """

    name: str
    folder: Path
    image: bytes
    provider: str | None = None
    threads: int = 1
    check: bool = False


class ServedModel:
    """A loaded deployment that has made its first call. Raises what a load and a call raise."""

    def __init__(self, settings: ServedModelSettings) -> None:
        self.name = settings.name
        self._model = load(settings.folder, provider=settings.provider, threads=settings.threads, check=settings.check)
        self._image = np.frombuffer(settings.image, np.uint8)
        self._manifest = np.frombuffer(manifest_content(self._model.manifest), np.uint8)
        self._dtypes = {spec.name: spec.dtype for spec in self._model.manifest.inputs}
        self._first = self._arrays(self._image, {})

    def describe(self) -> dict[str, Any]:
        """The metadata of the model, as the protocol names them; -1 is a side of any size."""
        settings = [
            {"name": name, "datatype": DTYPES[self._dtypes[name]], "shape": [1, 1]}
            for name in self._model.manifest.defaults
        ]
        outputs = [
            {"name": name, "datatype": DTYPES[array.dtype.name], "shape": [1] + [-1] * (array.ndim - 1)}
            for name, array in self._first.items()
        ]
        return {
            "name": self.name,
            "platform": f"zooport_{self._model.manifest.backend}",
            "inputs": [{"name": FILE, "datatype": "UINT8", "shape": [1, -1]}, *settings],
            "outputs": outputs,
        }

    def infer(self, body: bytes, json_bytes: str | None) -> tuple[bytes, int | None]:
        """The body of an answer to the body of a request, each with the bytes of its JSON, as v2_http has them.

        Raises InputError for a bad request, and for an image that the model refuses.
        """
        request = parse_request(body, json_bytes)
        if set(request.outputs) == {DEPLOYMENT}:
            arrays: Mapping[str, Array] = {DEPLOYMENT: self._manifest[np.newaxis]}
        else:
            arrays = self._arrays(request.inputs.get(FILE), self._settings(request))
        return response_body(self.name, request, arrays)

    def check(self) -> None:
        """Make a call. Raises what it raises."""
        self._arrays(self._image, {})

    def close(self) -> None:
        """Release the model."""
        self._model.close()

    def _arrays(self, content: NDArray[np.uint8] | None, settings: Mapping[str, float]) -> dict[str, Array]:
        """The outputs, each with a batch axis."""
        if content is not None and content.dtype != np.uint8:
            raise InputError(f'the request: input "{FILE}" is {content.dtype}, expected UINT8')
        result = self._model(read_content(self._model.task.kind, content), **settings)
        check_outputs(self.name, result.arrays)
        return {name: array[np.newaxis] for name, array in {**result.arrays, DEPLOYMENT: self._manifest}.items()}

    def _settings(self, request: V2Request) -> dict[str, float]:
        """The inputs beside the file."""
        settings = {}
        for name, array in request.inputs.items():
            if name == FILE:
                continue
            if name not in self._model.manifest.defaults:
                known = [FILE, *self._model.manifest.defaults]
                raise InputError(f'the request: unknown input "{name}"; {nearest(name, known)}')
            settings[name] = read_setting(name, array)
        return settings
