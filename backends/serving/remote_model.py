"""A model behind a server of the Open Inference Protocol, version 2, such as Triton or KServe."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.pool import Pool
from backends.serving.address import parse_address
from backends.serving.protocol import DEPLOYMENT, DTYPES, FILE, read_manifest
from backends.streams import Streams
from zoo.errors import BackendUnavailableError, InputError, nearest
from zoo.sources import Item
from zoo.tasks import Result

WAITS = (0.1, 0.3, 1.0, 3.0, 10.0)  # seconds before a request is sent again to a server that is full
SECONDS = 300.0  # that a request may take
INSTALL = 'pip install "zooport[serve]"'
BAD, ABSENT, FULL = "400", "404", "503"
ENSEMBLE = re.compile(r"^in ensemble '[^']*', ")  # Triton's, in front of what a step says


class RemoteModel(Streams):
    """`address`: http://host:port/model, of a model behind Triton or Ray Serve. `workers`: requests at once.

    Results are those of the deployment itself: files are sent as they are, frames as PNG. Raises InputError for what
    is no such model, BackendUnavailableError if the server does not answer or the client library is not installed.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        self.address = address
        self.pool = None if workers is None else Pool(workers)
        self._parsed = parse_address(address)
        self._http = _library()
        self._local = threading.local()  # a client is for one thread
        self._clients: list[Any] = []
        described = self._infer(b"", [DEPLOYMENT], {})[DEPLOYMENT]
        self.manifest = read_manifest(described.tobytes(), address)
        self.task = self.manifest.build_task()
        self._dtypes = {spec.name: spec.dtype for spec in self.manifest.inputs}
        outputs = self._asked(lambda client: client.get_model_metadata(self._parsed.model))["outputs"]
        self._outputs = [output["name"] for output in outputs if output["name"] != DEPLOYMENT]

    def _group(self, inputs: Mapping[str, float]) -> int:
        for name in inputs:
            if name not in self.manifest.defaults:
                known = self.manifest.defaults
                words = nearest(name, known) if known else "it has no inputs that can be set"
                raise InputError(f'{self.address}: unknown input "{name}"; {words}')
        return 1

    def _results(self, items: list[Item], inputs: Mapping[str, float]) -> list[Result]:
        return [self._result(item, inputs) for item in items]

    def _result(self, item: Item, inputs: Mapping[str, float]) -> Result:
        is_file = item.source.recording is None
        content = Path(item.source.label).read_bytes() if is_file else self.task.kind.file_content(item.value)
        arrays = self._infer(content, self._outputs, inputs)
        return self.task.result_type.of_arrays(arrays).of_task(self.task, None)

    def _infer(self, content: bytes, outputs: list[str], inputs: Mapping[str, float]) -> dict[str, NDArray[Any]]:
        """The outputs without their batch axis."""
        tensors = [self._tensor(FILE, np.frombuffer(content, np.uint8))]
        tensors += [self._tensor(name, np.array([value], self._dtypes[name])) for name, value in inputs.items()]
        requested = [self._http.InferRequestedOutput(name) for name in outputs]
        answer = self._asked(lambda client: client.infer(self._parsed.model, tensors, outputs=requested))
        return {name: answer.as_numpy(name)[0] for name in outputs}

    def _asked(self, ask: Callable[[Any], Any]) -> Any:
        """What a call of the client gives. A server that is full is asked again."""
        from tritonclient.utils import InferenceServerException

        for wait in (*WAITS, None):
            try:
                return ask(self._client())
            except InferenceServerException as error:
                if error.status() == FULL and wait is not None:
                    time.sleep(wait)
                    continue
                raise self._error(error.status(), error.message()) from error
            except Exception as error:  # whatever the sockets below raise
                raise self._error(None, str(error) or type(error).__name__) from error
        raise AssertionError

    def _error(self, status: str | None, message: str) -> InputError | BackendUnavailableError:
        reason = ENSEMBLE.sub("", " ".join(message.split()))
        if status == BAD and "unknown model" not in reason:
            return InputError(reason)
        if status in (BAD, ABSENT):
            return InputError(f"{self.address}: the server has no such model ({reason}); correct the address")
        return BackendUnavailableError(
            f"{self.address}: the server does not answer ({reason}); start it, or try again later"
        )

    def _tensor(self, name: str, array: NDArray[Any]) -> Any:
        batch = array[np.newaxis]
        tensor = self._http.InferInput(name, batch.shape, DTYPES[array.dtype.name])
        tensor.set_data_from_numpy(batch)
        return tensor

    def _client(self) -> Any:
        client = getattr(self._local, "client", None)
        if client is None:
            secure, server, _ = self._parsed
            client = self._http.InferenceServerClient(
                server, ssl=secure, connection_timeout=SECONDS, network_timeout=SECONDS
            )
            self._local.client = client
            self._clients.append(client)
        return client

    def _release(self) -> None:
        while self._clients:  # a connection that is left open holds up the end of the server
            self._clients.pop().close()


def _library() -> ModuleType:
    """tritonclient.http, the client of Triton's authors, for any server of this protocol."""
    try:
        import tritonclient.http
    except ImportError as error:
        raise BackendUnavailableError(f"tritonclient is not installed, which sends requests; {INSTALL}") from error
    return tritonclient.http  # type: ignore[no-any-return]  # it has no types
