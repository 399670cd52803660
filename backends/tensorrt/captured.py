"""A run of one set of shapes, recorded as a CUDA graph."""

from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from backends.profiles import Shape
from backends.tensorrt.buffer import Buffer
from backends.tensorrt.cuda import Cuda
from backends.tensorrt.dlpack import Memory
from backends.tensorrt.execution import Execution, Loaded


class Captured:
    """A graph of one run, with a context and memory of its own, whose addresses the graph holds.

    Fill `inputs`, then `launch`, then read `outputs`, all on the one stream. The first launch runs once to warm up,
    since TensorRT does work then that a graph must not hold, and then records. For one thread at a time; the device
    must be current. All goes back with `free`, or with the object. Raises ExportError where TensorRT cannot be
    recorded.
    """

    def __init__(self, cuda: Cuda, loaded: Loaded, stream: int, like: Mapping[str, Memory]) -> None:
        """`like`: the inputs, of whose shapes and dtypes all runs are."""
        self._cuda = cuda
        self._loaded = loaded
        self._stream = stream
        self._buffers: list[Buffer] = []
        self._graph = 0
        if loaded.io.on_host:
            names = ", ".join(sorted(loaded.io.on_host))
            loaded.refuse("become a CUDA graph", f"shapes depend on the values of {names}; leave cuda_graph off")
        self._execution: Execution | None = Execution(loaded, stream)
        self.inputs = {name: self._memory(memory.shape, memory.dtype) for name, memory in like.items()}
        self.outputs: dict[str, Memory] = {}

    def launch(self) -> None:
        """Enqueue the run."""
        if not self._graph:
            self._record()
        self._cuda.launch(self._graph, self._stream)

    def free(self) -> None:
        """Give all of it back, once its work is done. A second call does nothing."""
        graph, self._graph, self._execution = self._graph, 0, None
        if graph:
            self._cuda.destroy_graph(graph)
        for buffer in self._buffers:
            buffer.free()

    def __del__(self) -> None:
        with suppress(Exception), self._cuda.current():  # at the end of the process CUDA may be gone before us
            self.free()

    def _record(self) -> None:
        execution = self._execution
        assert execution is not None  # a freed graph is not launched
        shapes = execution.prepare(self.inputs)
        unknown = [name for name, shape in shapes.items() if shape is None]
        if unknown:
            self._loaded.refuse(
                "become a CUDA graph", f"the shape of {', '.join(unknown)} depends on the data; leave cuda_graph off"
            )
        for name, shape in shapes.items():
            assert shape is not None  # refused above
            self.outputs[name] = self._memory(shape, np.dtype(self._loaded.io.outputs[name]))
        self._enqueue(execution, shapes)
        self._cuda.synchronize(self._stream)
        self._cuda.begin_capture(self._stream)
        try:
            self._enqueue(execution, shapes)
        except BaseException:
            self._cuda.abandon_capture(self._stream)
            raise
        self._graph = self._cuda.end_capture(self._stream)

    def _enqueue(self, execution: Execution, shapes: Mapping[str, Shape | None]) -> None:
        execution.enqueue(shapes, lambda name, _: self.outputs[name].address, {})

    def _memory(self, shape: Shape, dtype: np.dtype[np.generic]) -> Memory:
        buffer = Buffer(self._cuda)
        self._buffers.append(buffer)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return Memory(buffer.reserve(size), shape, dtype, buffer)
