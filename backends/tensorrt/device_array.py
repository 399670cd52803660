"""An output that stays on the device."""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.tensorrt import dlpack
from backends.tensorrt.buffer import Buffer
from backends.tensorrt.cuda import Cuda

DEFAULT_STREAM = 1  # CUDA's and DLPack's number for the legacy default stream
NO_WAIT = -1  # DLPack: the consumer sees to the order itself


class DeviceArray:
    """A C-contiguous tensor in device memory of its own, which lives on after the runner is closed.

    Its memory goes with it, or with the last tensor made from it; CUDA waits then for all work that may use it.

    ``torch.from_dlpack(array)`` and ``cupy.from_dlpack(array)`` take it as it is, without a copy and without waiting:
    the stream on which they take it waits for the work that fills it. ``__cuda_array_interface__`` (version 3) is for
    those without DLPack; asking for it waits for that work, since not every library looks at the stream.
    ``numpy()`` copies it to the host. `shape`, `dtype`: numpy's.
    """

    def __init__(self, cuda: Cuda, buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any], stream: int) -> None:
        """Take over `buffer`, which the work that `stream` has now fills. The device must be current."""
        self.shape = shape
        self.dtype = dtype
        self._cuda = cuda
        self._buffer = buffer
        self._ready = cuda.create_event()
        cuda.record(self._ready, stream)

    def numpy(self) -> NDArray[Any]:
        """A copy on the host, once the work is done."""
        array = np.empty(self.shape, self.dtype)
        with self._cuda.current():
            self._cuda.wait(DEFAULT_STREAM, self._ready)
            self._cuda.copy_out(array.ctypes.data, self._buffer.address, array.nbytes, DEFAULT_STREAM)
            self._cuda.synchronize(DEFAULT_STREAM)
        return array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._cuda.dlpack_device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A capsule. `stream`: the consumer's, None for the default one, -1 where it waits by itself.

        Capsules are of version 0.8, whatever `max_version` the consumer knows. Raises BufferError for another device, a
        copy, and stream 0, which is ambiguous.
        """
        if copy or (dl_device is not None and tuple(dl_device) != self._cuda.dlpack_device):
            raise BufferError("a DeviceArray gives itself only: no copy, and on no other device")
        if stream == 0:
            raise BufferError("stream 0 is ambiguous: give 1 for the default stream, 2 for the thread's")
        if stream != NO_WAIT:
            with self._cuda.current():
                self._cuda.wait(DEFAULT_STREAM if stream is None else stream, self._ready)
        return dlpack.capsule(self._memory, self._cuda.dlpack_device)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        with self._cuda.current():
            self._cuda.synchronize_event(self._ready)
        memory = self._memory
        address = memory.address if memory.size else 0
        return {
            "shape": self.shape,
            "typestr": np.dtype(self.dtype).str,
            "data": (address, False),
            "version": 3,
            "stream": None,
        }

    @property
    def _memory(self) -> dlpack.Memory:
        return dlpack.Memory(self._buffer.address, self.shape, self.dtype, self)

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype} {list(self.shape)} on cuda:{self._cuda.device}>"

    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the process CUDA may be gone before us
            self._cuda.destroy_event(self._ready)
