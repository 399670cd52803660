"""NVIDIA's cuda-python, each call checked: device and pinned memory, streams, events, graphs.

Addresses, streams, events and graphs are plain numbers here, 0 for none. Source of names and signatures: the package
cuda-bindings 13.5, module cuda.bindings.runtime.
"""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from zoo.errors import BackendUnavailableError, ExportError, InputError

DLPACK_CUDA = 2  # DLPack's number for CUDA devices
INSTALL = "pip install cuda-python"


def bindings() -> ModuleType:
    """cuda-python's runtime module. Raises BackendUnavailableError where it is not installed or does not load."""
    try:
        return importlib.import_module("cuda.bindings.runtime")
    except Exception as error:  # its native part has errors of its own
        reason = " ".join(str(error).split())
        raise BackendUnavailableError(f"cuda-python does not load ({reason}); {INSTALL}") from error


def device_number(device: str) -> int:
    """1 for "cuda:1", 0 for "cuda". Raises InputError for anything else."""
    match = re.fullmatch(r"cuda(?::(\d+))?", device)
    if match is None:
        raise InputError(f'device "{device}": TensorRT runs on CUDA devices; expected cuda or cuda:N, such as cuda:0')
    return int(match[1] or 0)


class Cuda:
    """One CUDA device. Threads may share it: each makes it current for the time of its own calls.

    A call that CUDA refuses is an ExportError that says what was asked for and CUDA's reason; memory that it has not
    got, too.
    """

    def __init__(self, device: int) -> None:
        self.device = device
        self.dlpack_device = (DLPACK_CUDA, device)
        self._bindings: Any = bindings()

    @contextmanager
    def current(self) -> Iterator[None]:
        """This device is the thread's, and the one before it again afterwards: other libraries ask for it, too."""
        before = self._ask("read the current device", self._bindings.cudaGetDevice())
        if before == self.device:
            yield
            return
        self._ask("use it", self._bindings.cudaSetDevice(self.device))
        try:
            yield
        finally:
            self._ask(f"go back to cuda:{before}", self._bindings.cudaSetDevice(before))

    def allocate(self, size: int) -> int:
        """The address of `size` bytes of device memory, 1 or more."""
        return int(self._ask(f"allocate {size} bytes", self._bindings.cudaMalloc(size)))

    def free(self, address: int) -> None:
        """Give device memory back, once all work on the device that may use it is done."""
        self._ask("free memory", self._bindings.cudaFree(address))

    def allocate_pinned(self, size: int) -> int:
        """The address of `size` bytes of the host's memory that is not paged, so that copies need no detour."""
        flags = self._bindings.cudaHostAllocDefault
        return int(self._ask(f"allocate {size} bytes of pinned memory", self._bindings.cudaHostAlloc(size, flags)))

    def free_pinned(self, address: int) -> None:
        """Give pinned memory back."""
        self._ask("free pinned memory", self._bindings.cudaFreeHost(address))

    def copy_in(self, target: int, source: int, size: int, stream: int) -> None:
        """Enqueue a copy from the host to the device."""
        self._copy(target, source, size, self._bindings.cudaMemcpyKind.cudaMemcpyHostToDevice, stream)

    def copy_out(self, target: int, source: int, size: int, stream: int) -> None:
        """Enqueue a copy from the device to the host."""
        self._copy(target, source, size, self._bindings.cudaMemcpyKind.cudaMemcpyDeviceToHost, stream)

    def copy_within(self, target: int, source: int, size: int, stream: int) -> None:
        """Enqueue a copy on the device."""
        self._copy(target, source, size, self._bindings.cudaMemcpyKind.cudaMemcpyDeviceToDevice, stream)

    def create_stream(self) -> int:
        """A stream that does not wait for the default one."""
        flags = self._bindings.cudaStreamNonBlocking
        return int(self._ask("create a stream", self._bindings.cudaStreamCreateWithFlags(flags)))

    def destroy_stream(self, stream: int) -> None:
        """Give a stream back."""
        self._ask("destroy a stream", self._bindings.cudaStreamDestroy(stream))

    def synchronize(self, stream: int) -> None:
        """Wait until the stream's work is done. What went wrong in that work is found out here."""
        self._ask("finish the work", self._bindings.cudaStreamSynchronize(stream))

    def create_event(self) -> int:
        """An event without a time."""
        flags = self._bindings.cudaEventDisableTiming
        return int(self._ask("create an event", self._bindings.cudaEventCreateWithFlags(flags)))

    def destroy_event(self, event: int) -> None:
        """Give an event back."""
        self._ask("destroy an event", self._bindings.cudaEventDestroy(event))

    def record(self, event: int, stream: int) -> None:
        """The event happens when the stream's work so far is done."""
        self._ask("record an event", self._bindings.cudaEventRecord(event, stream))

    def wait(self, stream: int, event: int) -> None:
        """The stream's later work begins after the event. The host does not wait."""
        self._ask("wait for an event", self._bindings.cudaStreamWaitEvent(stream, event, 0))

    def synchronize_event(self, event: int) -> None:
        """The host waits for the event."""
        self._ask("finish the work", self._bindings.cudaEventSynchronize(event))

    def happened(self, event: int) -> bool:
        """Whether the event has happened."""
        answer = self._bindings.cudaEventQuery(event)
        if answer[0] == self._bindings.cudaError_t.cudaErrorNotReady:
            return False
        self._ask("finish the work", answer)
        return True

    def follow(self, stream: int, leader: int) -> None:
        """The later work of `stream` begins after all that `leader` has now."""
        event = self.create_event()
        try:
            self.record(event, leader)
            self.wait(stream, event)
        finally:
            self.destroy_event(event)  # CUDA lets go of it once it has happened

    def begin_capture(self, stream: int) -> None:
        """From now on the stream's work is recorded instead of done. Other threads are not held up by it."""
        mode = self._bindings.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        self._ask("begin a CUDA graph", self._bindings.cudaStreamBeginCapture(stream, mode))

    def end_capture(self, stream: int) -> int:
        """The recorded work, as a graph that can be launched."""
        graph = self._ask("record the work as a CUDA graph", self._bindings.cudaStreamEndCapture(stream))
        try:
            return int(self._ask("instantiate the CUDA graph", self._bindings.cudaGraphInstantiate(graph, 0)))
        finally:
            self._ask("destroy a CUDA graph", self._bindings.cudaGraphDestroy(graph))

    def abandon_capture(self, stream: int) -> None:
        """End a capture whose work went wrong. What it holds is of no use, and its own error is no news."""
        error, graph = self._bindings.cudaStreamEndCapture(stream)
        if error == self._bindings.cudaError_t.cudaSuccess and int(graph):
            self._ask("destroy a CUDA graph", self._bindings.cudaGraphDestroy(graph))

    def launch(self, graph: int, stream: int) -> None:
        """Enqueue the graph's work."""
        self._ask("launch the CUDA graph", self._bindings.cudaGraphLaunch(graph, stream))

    def destroy_graph(self, graph: int) -> None:
        """Give a graph that can be launched back."""
        self._ask("destroy a CUDA graph", self._bindings.cudaGraphExecDestroy(graph))

    def _copy(self, target: int, source: int, size: int, kind: Any, stream: int) -> None:
        if size:
            self._ask(f"copy {size} bytes", self._bindings.cudaMemcpyAsync(target, source, size, kind, stream))

    def _ask(self, what: str, answer: tuple[Any, ...]) -> Any:
        """The value that CUDA gave, once its error code is that of success."""
        error, *values = answer
        if error != self._bindings.cudaError_t.cudaSuccess:
            _, words = self._bindings.cudaGetErrorString(error)
            raise ExportError(f"cuda:{self.device} could not {what}: {words.decode()} ({error.name})")
        return values[0] if values else None
