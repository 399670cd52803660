"""A model behind a server of the Open Inference Protocol, version 2, such as Triton or KServe."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from backends.graph_settings import graph_defaults, graph_settings
from backends.pool import CLOSED, Pool
from backends.serving.address import parse_address
from backends.serving.protocol import DEPLOYMENT, DTYPES, FILE, read_manifest
from backends.streams import Streams
from zoo.errors import BackendUnavailableError, InputError, ZooportError
from zoo.sources import Item
from zoo.tasks import Result

WAITS = (0.1, 0.3, 1.0, 3.0, 10.0)  # seconds before a request is sent again, see AGAIN
SECONDS = 300.0  # that a request may take
INSTALL = 'pip install "zooport[serve]"'
BAD, ABSENT = "400", "404"
REFUSED = ("408", "413", "415", "422")  # what a proxy answers to one request: the next one may be taken
AGAIN = ("429", "500", "502", "503", "504")  # a server that is full, or one whose process died and is replaced
FORM = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading an answer of another form raises."""
ENSEMBLE = re.compile(r"^in ensemble '[^']*', ")  # Triton's, in front of what a step says
MARKUP = re.compile(r"<[^>]*>")  # of a proxy's page
SHOWN = 300  # characters of what a server says
Arrays = dict[str, NDArray[Any]]
Answer = TypeVar("Answer")


class RemoteModel(Streams):
    """`address`: http://host:port/model, of a model behind Triton or Ray Serve. `workers`: requests at once.

    Results are those of the deployment itself: files are sent as they are, frames as PNG. Raises InputError for what
    is no such model, BackendUnavailableError if the server does not answer, if its answer stays an error of its own,
    or if the client library is not installed.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        self.address = address
        self.pool = None if workers is None else Pool(workers)
        self._parsed = parse_address(address)
        self._http = _library()
        self._local = threading.local()  # a client is for one thread
        self._clients: list[Any] = []
        self._closed = False
        try:
            described = self._infer(b"", [DEPLOYMENT], {})[DEPLOYMENT]
            self.manifest = read_manifest(described.tobytes(), address)
            self.task = self.manifest.build_task()
            self._defaults = graph_defaults(self.manifest.inputs, self.manifest.defaults)
            self._outputs = self._asked(lambda client: _output_names(client.get_model_metadata(self._parsed.model)))
        except BaseException:
            self._release()
            raise

    def _group(self, inputs: Mapping[str, float]) -> int:
        if self._closed:
            raise InputError(f"{self.address}: {CLOSED}")
        self._settings(inputs)
        return 1

    def _settings(self, inputs: Mapping[str, float]) -> Arrays:
        return graph_settings(self.address, self._defaults, inputs)

    def _results(self, items: list[Item], inputs: Mapping[str, float]) -> list[Result]:
        settings = self._settings(inputs)
        return [self._result(item, settings) for item in items]

    def _result(self, item: Item, settings: Arrays) -> Result:
        is_file = item.source.recording is None
        content = _content(item.source.label) if is_file else self.task.kind.file_content(item.value)
        arrays = self._infer(content, self._outputs, settings)
        with self._reading():
            result = self.task.own_result_type.of_arrays(arrays)
        return result.of_task(self.task, self.task.kind.geometry(self.manifest.preprocess, item.value))

    def _infer(self, content: bytes, outputs: list[str], settings: Arrays) -> Arrays:
        """The outputs without their batch axis."""
        tensors = [self._tensor(FILE, np.frombuffer(content, np.uint8))]
        tensors += [self._tensor(name, array) for name, array in settings.items()]
        requested = [self._http.InferRequestedOutput(name) for name in outputs]
        return self._asked(
            lambda client: _arrays(client.infer(self._parsed.model, tensors, outputs=requested), outputs)
        )

    def _asked(self, ask: Callable[[Any], Answer]) -> Answer:
        """What `ask` makes of the client's answer.

        A server that is full, that failed, or that closed the connection without an answer is asked again.
        """
        from geventhttpclient.response import HTTPConnectionClosed
        from tritonclient.utils import InferenceServerException

        closed = (HTTPConnectionClosed, ConnectionResetError, BrokenPipeError)
        for wait in (*WAITS, None):
            try:
                with self._reading():
                    return ask(self._client())
            except ZooportError:
                raise
            except InferenceServerException as error:
                if error.status() not in AGAIN or wait is None:
                    raise self._refusal(error.status(), _words(error)) from error
            except Exception as error:  # whatever the sockets below raise
                if not isinstance(error, closed) or wait is None:
                    raise self._refusal(None, _one_line(str(error)) or type(error).__name__) from error
            time.sleep(wait)
        raise AssertionError

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raises InputError where an answer has another form."""
        try:
            yield
        except OSError:  # of the connection: a certificate that is refused is a ValueError as well
            raise
        except FORM as error:
            raise InputError(
                f"{self.address}: the answer is none of zooport's ({type(error).__name__}: {_one_line(str(error))}), "
                "expected what docs/serving.md describes; correct the address"
            ) from error

    def _refusal(self, status: str | None, reason: str) -> InputError | BackendUnavailableError:
        """The error of an answer, or of none where `status` is None. That of one request is an InputError."""
        if status == ABSENT or (status == BAD and "unknown model" in reason):
            return InputError(f"{self.address}: the server has no such model ({reason}); correct the address")
        if status == BAD:
            return InputError(reason)
        if status in REFUSED:
            return InputError(
                f"the server refuses it with {status} ({reason}); send another file, or raise the server's limit"
            )
        if status is None:
            return BackendUnavailableError(
                f"{self.address}: the server does not answer ({reason}); start it, or try again later"
            )
        return BackendUnavailableError(
            f"{self.address}: the server answers {status} ({reason}); see its log, or try again later"
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
        self._closed = True
        while self._clients:  # a connection that is left open holds up the end of the server
            self._clients.pop().close()


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error


def _arrays(answer: Any, names: list[str]) -> Arrays:
    """The outputs of a client's answer without their batch axis of 1. Raises one of FORM for what lacks them."""
    arrays = {name: answer.as_numpy(name) for name in names}
    for name, array in arrays.items():
        if np.shape(array)[:1] != (1,):  # [] of an output that is not there
            raise ValueError(f'output "{name}" is missing, or its shape is not [1, ...]')
    return {name: array[0] for name, array in arrays.items()}


def _output_names(metadata: Any) -> list[str]:
    """Those of the result in the metadata of a model. Raises one of FORM for what is none."""
    return [output["name"] for output in metadata["outputs"] if output["name"] != DEPLOYMENT]


def _words(error: Any) -> str:
    """What the server says in a client's error, in one line. It may be the page of a proxy, and no error as JSON."""
    page = error.debug_details()
    text = str(error.message()) if page is None else MARKUP.sub(" ", page)
    return ENSEMBLE.sub("", _one_line(text))[:SHOWN]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _library() -> ModuleType:
    """tritonclient.http, the client of Triton's authors, for any server of this protocol."""
    try:
        import tritonclient.http
    except ImportError as error:
        raise BackendUnavailableError(f"tritonclient is not installed, which sends requests; {INSTALL}") from error
    return tritonclient.http  # type: ignore[no-any-return]  # it has no types
