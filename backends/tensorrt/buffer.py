"""Memory that grows and is used again."""

import ctypes
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from backends.tensorrt.cuda import Cuda
from zoo.errors import ExportError


class Buffer:
    """Device memory, or pinned memory of the host. Goes back with `free`, or with the object.

    Not for two threads at once. The device must be current in each call.
    """

    def __init__(self, cuda: Cuda, *, pinned: bool = False) -> None:
        self._cuda = cuda
        self._pinned = pinned
        self.address = 0
        self.size = 0

    def reserve(self, size: int) -> int:
        """The address of `size` bytes at least, whose content is lost where it grows; never 0, also for no bytes."""
        size = max(size, 1)  # TensorRT takes no null address, not even for a tensor without elements
        if size > self.size:
            self.free()
            self.address = self._cuda.allocate_pinned(size) if self._pinned else self._cuda.allocate(size)
            self.size = size
        return self.address

    def array(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Pinned memory as an array, which holds until the buffer grows or is freed."""
        count = int(np.prod(shape, dtype=np.int64))
        address = self.reserve(count * np.dtype(dtype).itemsize)
        return np.ndarray(shape, dtype, memoryview((ctypes.c_ubyte * self.size).from_address(address)))

    def free(self) -> None:
        """Give the memory back. A second call does nothing; after one that CUDA refused it is the next try."""
        if self.address:
            address, self.address = self.address, 0  # first, since an interrupt in between must not free it twice
            try:
                (self._cuda.free_pinned if self._pinned else self._cuda.free)(address)
            except ExportError:
                self.address = address
                raise
            self.size = 0

    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the process CUDA may be gone before us
            self.free()
