"""Inputs as they come: numpy, DLPack, or __cuda_array_interface__."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.tensorrt import dlpack
from backends.tensorrt.cuda import DLPACK_CUDA, Cuda
from backends.tensorrt.dlpack import Memory
from zoo.errors import InputError

DLPACK_HOSTS = (1, 3)  # the host's memory, and that of it which CUDA has pinned


def taken(name: str, foreign: Any, cuda: Cuda, stream: int) -> NDArray[Any] | Memory:
    """The input `name`: an array on the host, or memory of the device that `stream` may read from now on.

    Takes numpy arrays, objects with DLPack's methods on the host or on this device (torch's and CuPy's tensors,
    DeviceArray), and those with __cuda_array_interface__. What fills them may still be under way: `stream` waits for
    the producer's. The device must be current. Raises InputError for anything else and for another device.
    """
    if isinstance(foreign, np.ndarray):
        return foreign
    if hasattr(foreign, "__dlpack_device__"):
        return _from_dlpack(name, foreign, cuda, stream)
    if hasattr(foreign, "__cuda_array_interface__"):
        return _from_interface(name, foreign, cuda, stream)
    raise InputError(
        f'input "{name}": got {type(foreign).__name__}, expected a numpy array, or a tensor with __dlpack__ or '
        "__cuda_array_interface__"
    )


def _from_dlpack(name: str, foreign: Any, cuda: Cuda, stream: int) -> NDArray[Any] | Memory:
    device = tuple(int(number) for number in foreign.__dlpack_device__())
    try:
        if device == cuda.dlpack_device:
            return dlpack.read(foreign.__dlpack__(stream=stream), name)
        if device[0] in DLPACK_HOSTS:
            return np.from_dlpack(foreign)
    except (BufferError, RuntimeError, TypeError) as error:  # the producer's words, such as "requires gradient"
        raise InputError(f'input "{name}": {type(foreign).__name__} gives no tensor: {error}') from error
    where = f"cuda:{device[1]}" if device[0] == DLPACK_CUDA else f"DLPack's device {device}"
    raise InputError(f'input "{name}": it is on {where}, and the engine on cuda:{cuda.device}; move it there')


def _from_interface(name: str, foreign: Any, cuda: Cuda, stream: int) -> Memory:
    described = foreign.__cuda_array_interface__
    shape, dtype = tuple(described["shape"]), np.dtype(described["typestr"])
    strides = described.get("strides")
    if strides is not None and not dlpack.is_contiguous(shape, [stride / dtype.itemsize for stride in strides]):
        raise InputError(f'input "{name}": the tensor is not C-contiguous; give a contiguous one')
    if described.get("stream"):
        cuda.follow(stream, described["stream"])
    return Memory(described["data"][0], shape, dtype, foreign)
