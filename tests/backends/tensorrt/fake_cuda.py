# ruff: noqa: N802, N815 - its names are those of the real module
"""A stand-in for cuda.bindings.runtime, which cannot do anything on a machine without a GPU.

Its device memory is the host's, its streams do their work at once, and a capture keeps the work for its launches.
tests/backends/tensorrt/test_binding_names.py compares its names with the real module.
"""

import ctypes
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any


class Error(IntEnum):
    cudaSuccess = 0
    cudaErrorInvalidValue = 1
    cudaErrorMemoryAllocation = 2
    cudaErrorInsufficientDriver = 35
    cudaErrorNoDevice = 100
    cudaErrorNotReady = 600
    cudaErrorIllegalAddress = 700


class CopyKind(Enum):
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDeviceToDevice = 3


class CaptureMode(Enum):
    cudaStreamCaptureModeThreadLocal = 1


Answer = tuple[Any, ...]
OK: Answer = (Error.cudaSuccess,)


class FakeCuda:
    """One process's CUDA. `fails`: name of a call -> the error it gives. `calls`: what happened on streams."""

    cudaError_t = Error
    cudaMemcpyKind = CopyKind
    cudaStreamCaptureMode = CaptureMode
    cudaHostAllocDefault = 0
    cudaStreamNonBlocking = 1
    cudaEventDisableTiming = 2

    def __init__(self, devices: int = 1, driver: int = 13050) -> None:
        self.devices = devices
        self.driver = driver
        self.device = 0
        self.fails: dict[str, Error] = {}
        self.memory: dict[int, Any] = {}
        self.pinned: dict[int, Any] = {}
        self.streams: set[int] = set()
        self.events: set[int] = set()
        self.graphs: dict[int, list[Callable[[], None]]] = {}
        self.capturing: dict[int, list[Callable[[], None]]] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.pending: set[int] = set()  # events that have not happened yet
        self._last = 1000

    @property
    def held(self) -> int:
        """How many things have not been given back."""
        return sum(map(len, (self.memory, self.pinned, self.streams, self.events, self.graphs)))

    def work(self, stream: int, what: Callable[[], None]) -> None:
        """Something that is put on a stream."""
        if stream in self.capturing:
            self.capturing[stream].append(what)
        else:
            what()

    def cudaGetDeviceCount(self) -> Answer:
        error = self.fails.get("cudaGetDeviceCount")
        return (error, None) if error else (Error.cudaSuccess, self.devices)

    def cudaDriverGetVersion(self) -> Answer:
        return Error.cudaSuccess, self.driver

    def cudaRuntimeGetVersion(self) -> Answer:
        return Error.cudaSuccess, 13050

    def cudaGetErrorString(self, error: Error) -> Answer:
        return Error.cudaSuccess, {2: b"out of memory", 700: b"an illegal memory access"}.get(error, b"something else")

    def cudaGetDevice(self) -> Answer:
        return Error.cudaSuccess, self.device

    def cudaSetDevice(self, device: int) -> Answer:
        self.device = device
        return OK

    def cudaMalloc(self, size: int) -> Answer:
        return self._allocated(self.memory, size, "cudaMalloc")

    def cudaHostAlloc(self, size: int, flags: int) -> Answer:
        return self._allocated(self.pinned, size, "cudaHostAlloc")

    def cudaFree(self, address: int) -> Answer:
        if "cudaFree" in self.fails:
            return (self.fails["cudaFree"],)
        del self.memory[address]
        return OK

    def cudaFreeHost(self, address: int) -> Answer:
        del self.pinned[address]
        return OK

    def cudaMemcpyAsync(self, target: int, source: int, size: int, kind: CopyKind, stream: int) -> Answer:
        assert target
        assert source
        self.calls.append(("copy", kind.name.removeprefix("cudaMemcpy"), size, stream))
        self.work(stream, lambda: ctypes.memmove(target, source, size) and None)
        return OK

    def cudaStreamCreateWithFlags(self, flags: int) -> Answer:
        self.streams.add(self._next())
        return Error.cudaSuccess, self._last

    def cudaStreamDestroy(self, stream: int) -> Answer:
        self.streams.remove(stream)
        return OK

    def cudaStreamSynchronize(self, stream: int) -> Answer:
        self.calls.append(("synchronize", stream))
        return (self.fails.get("cudaStreamSynchronize", Error.cudaSuccess),)

    def cudaStreamWaitEvent(self, stream: int, event: int, flags: int) -> Answer:
        assert event in self.events
        self.calls.append(("wait", stream, event))
        return OK

    def cudaEventCreateWithFlags(self, flags: int) -> Answer:
        self.events.add(self._next())
        return Error.cudaSuccess, self._last

    def cudaEventDestroy(self, event: int) -> Answer:
        self.events.remove(event)
        return OK

    def cudaEventRecord(self, event: int, stream: int) -> Answer:
        assert event in self.events
        self.calls.append(("record", event, stream))
        return OK

    def cudaEventSynchronize(self, event: int) -> Answer:
        self.calls.append(("synchronize event", event))
        return OK

    def cudaEventQuery(self, event: int) -> Answer:
        return (Error.cudaErrorNotReady,) if event in self.pending else OK

    def cudaStreamBeginCapture(self, stream: int, mode: CaptureMode) -> Answer:
        self.capturing[stream] = []
        return OK

    def cudaStreamEndCapture(self, stream: int) -> Answer:
        self.graphs[self._next()] = self.capturing.pop(stream)
        return Error.cudaSuccess, self._last

    def cudaGraphInstantiate(self, graph: int, flags: int) -> Answer:
        self.graphs[self._next()] = self.graphs[graph]
        return Error.cudaSuccess, self._last

    def cudaGraphDestroy(self, graph: int) -> Answer:
        del self.graphs[graph]
        return OK

    def cudaGraphExecDestroy(self, graph: int) -> Answer:
        del self.graphs[graph]
        return OK

    def cudaGraphLaunch(self, graph: int, stream: int) -> Answer:
        self.calls.append(("launch", graph, stream))
        for what in self.graphs[graph]:
            what()
        return OK

    def _allocated(self, where: dict[int, Any], size: int, call: str) -> Answer:
        if call in self.fails:
            return self.fails[call], None
        assert size > 0
        memory = ctypes.create_string_buffer(size)
        where[ctypes.addressof(memory)] = memory
        return Error.cudaSuccess, ctypes.addressof(memory)

    def _next(self) -> int:
        self._last += 1
        return self._last
