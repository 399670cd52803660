"""What one thread runs an engine with: a stream, a context, staging memory, CUDA graphs."""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.profiles import Shape
from backends.tensorrt import dlpack
from backends.tensorrt.buffer import Buffer
from backends.tensorrt.captured import Captured
from backends.tensorrt.cuda import Cuda
from backends.tensorrt.device_array import DeviceArray
from backends.tensorrt.dlpack import Memory
from backends.tensorrt.execution import Execution, Loaded
from zoo.errors import ExportError

MOST_GRAPHS = 4
"""CUDA graphs that a lane keeps, one for each set of shapes; the one unused for longest makes room."""

Given = NDArray[Any] | Memory


class Lane:
    """For one thread at a time; the device must be current in each call. Runs are in order of the calls.

    Arrays of the host go through pinned memory. Tensors of the device are read where they lie (with CUDA graphs: copied
    on the device, since a graph knows addresses only), and kept alive until the work that reads them is done.
    All goes back with `close`, or with the object.
    """

    def __init__(self, cuda: Cuda, loaded: Loaded, *, cuda_graph: bool) -> None:
        self._cuda = cuda
        self._loaded = loaded
        self._cuda_graph = cuda_graph
        self.stream = cuda.create_stream()
        self._execution: Execution | None = None
        self._graphs: OrderedDict[tuple[Shape, ...], Captured] = OrderedDict()
        self._device: defaultdict[str, Buffer] = defaultdict(lambda: Buffer(cuda))
        self._pinned: defaultdict[str, Buffer] = defaultdict(lambda: Buffer(cuda, pinned=True))
        self._reading_pinned = False
        self._kept: deque[tuple[int, object]] = deque()

    def run(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """All outputs, as new arrays, once the work is done."""
        self._let_go()
        with self._settled():
            outputs = self._enqueue(arrays, self._device)
            staged = {}
            for name, memory in outputs.items():
                staged[name] = self._pinned[name].array(memory.shape, memory.dtype)
                self._cuda.copy_out(staged[name].ctypes.data, memory.address, memory.size, self.stream)
            self._cuda.synchronize(self.stream)
            self._reading_pinned = False
            return {name: array.copy() for name, array in staged.items()}

    def run_device(self, inputs: Mapping[str, Given]) -> dict[str, DeviceArray]:
        """All outputs, on the device, in memory of their own. The work may still be under way."""
        self._let_go()
        fresh: defaultdict[str, Buffer] = defaultdict(lambda: Buffer(self._cuda))
        with self._settled():
            outputs = self._enqueue(inputs, fresh)
            if self._cuda_graph:
                for name, memory in outputs.items():
                    target = fresh[name].reserve(memory.size)
                    self._cuda.copy_within(target, memory.address, memory.size, self.stream)
            event = self._cuda.create_event()
            self._kept.append((event, inputs))
            self._cuda.record(event, self.stream)
            return {
                name: DeviceArray(self._cuda, fresh[name], memory.shape, memory.dtype, self.stream)
                for name, memory in outputs.items()
            }

    def close(self) -> None:
        """Give all of it back, once its work is done. A second call does nothing."""
        if not self.stream:
            return
        with suppress(ExportError):  # what went wrong in that work was the run's to tell
            self._cuda.synchronize(self.stream)
        self._let_go()
        for graph in self._graphs.values():
            graph.free()
        self._graphs.clear()
        self._execution = None
        for buffer in (*self._device.values(), *self._pinned.values()):
            buffer.free()
        stream, self.stream = self.stream, 0
        self._cuda.destroy_stream(stream)

    def __del__(self) -> None:
        with suppress(Exception), self._cuda.current():  # at the end of the process CUDA may be gone before us
            self.close()

    def _enqueue(self, inputs: Mapping[str, Given], buffers: defaultdict[str, Buffer]) -> dict[str, Memory]:
        """Put a run on the stream. Gives where the outputs will be: in `buffers`, or in the CUDA graph's own memory."""
        if self._cuda_graph:
            return self._launch(inputs)
        if self._execution is None:
            self._execution = Execution(self._loaded, self.stream)
        outputs = self._loaded.io.outputs
        shapes = self._execution.prepare({name: self._placed(name, value) for name, value in inputs.items()})
        result_shapes = self._execution.enqueue(
            shapes, lambda name, shape: buffers[name].reserve(_bytes(shape, outputs[name])), buffers
        )
        return {
            name: Memory(buffers[name].reserve(1), shape, np.dtype(outputs[name]), buffers[name])
            for name, shape in result_shapes.items()
        }

    def _launch(self, inputs: Mapping[str, Given]) -> dict[str, Memory]:
        shapes = tuple(value.shape for value in inputs.values())
        if shapes not in self._graphs:
            while len(self._graphs) >= MOST_GRAPHS:
                self._cuda.synchronize(self.stream)
                self._graphs.popitem(last=False)[1].free()
            like = {name: _memory(value) for name, value in inputs.items()}
            self._graphs[shapes] = Captured(self._cuda, self._loaded, self.stream, like)
        self._graphs.move_to_end(shapes)
        graph = self._graphs[shapes]
        try:
            for name, value in inputs.items():
                self._fill(name, value, graph.inputs[name].address)
            graph.launch()
        except BaseException:  # half a graph is of no use to the next run
            del self._graphs[shapes]
            graph.free()
            raise
        return graph.outputs

    def _placed(self, name: str, value: Given) -> Memory:
        """The input where TensorRT will read it: on the device, or on the host where shapes depend on it."""
        on_host = name in self._loaded.io.on_host
        if isinstance(value, Memory):
            if on_host:
                return self._fetched(name, value)
            return value if value.address else value._replace(address=self._device[name].reserve(0))
        if on_host:
            return dlpack.of_array(value)
        address = self._device[name].reserve(value.nbytes)
        self._fill(name, value, address)
        return Memory(address, value.shape, value.dtype, value)

    def _fetched(self, name: str, value: Memory) -> Memory:
        """A tensor of the device whose values decide shapes, on the host: TensorRT reads it while it enqueues."""
        array = self._pinned[name].array(value.shape, value.dtype)
        self._cuda.copy_out(array.ctypes.data, value.address, value.size, self.stream)
        self._cuda.synchronize(self.stream)
        return dlpack.of_array(array)

    def _fill(self, name: str, value: Given, address: int) -> None:
        """Enqueue a copy of the input into device memory."""
        if isinstance(value, Memory):
            self._cuda.copy_within(address, value.address, value.size, self.stream)
            return
        pinned = self._pinned[name].array(value.shape, value.dtype)
        pinned[...] = value
        self._cuda.copy_in(address, pinned.ctypes.data, value.nbytes, self.stream)
        self._reading_pinned = True

    def _let_go(self) -> None:
        """Drop inputs of runs that are done, and wait for those of them that read the pinned memory."""
        if self._reading_pinned:
            self._cuda.synchronize(self.stream)
            self._reading_pinned = False
        while self._kept and self._cuda.happened(self._kept[0][0]):
            self._cuda.destroy_event(self._kept.popleft()[0])

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """After an error nothing is under way any more, so that inputs and buffers are free."""
        try:
            yield
        except BaseException:
            with suppress(ExportError):
                self._cuda.synchronize(self.stream)
            raise


def _memory(value: Given) -> Memory:
    return value if isinstance(value, Memory) else dlpack.of_array(value)


def _bytes(shape: Shape, dtype: str) -> int:
    return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
