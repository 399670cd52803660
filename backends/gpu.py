"""Which GPU is here, asked of NVIDIA's driver itself: a build needs no CUDA toolkit and no cuda-python to know."""

import ctypes
import os
import sys
from typing import NamedTuple

DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
NAME_BYTES = 256
DEVICES = "cpu, cuda or cuda:N, for example cuda:0"
DEVICE_PATTERN = r"cpu|cuda(:\d+)?"
MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of cuda.h


class Gpu(NamedTuple):
    """A GPU's name as the driver tells it ("NVIDIA GeForce RTX 4090"), and its compute capability ("8.9")."""

    name: str
    capability: str


def gpu(index: int = 0) -> Gpu | None:
    """The GPU of this index among those that the process may see; None where there is no driver or no such GPU."""
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError:
        return None
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(NAME_BYTES)
    faults = (
        driver.cuInit(0)
        or driver.cuDeviceGet(ctypes.byref(device), index)
        or driver.cuDeviceGetName(name, NAME_BYTES, device)
        or driver.cuDeviceGetAttribute(ctypes.byref(major), MAJOR, device)
        or driver.cuDeviceGetAttribute(ctypes.byref(minor), MINOR, device)
    )
    return None if faults else Gpu(name.value.decode(errors="replace"), f"{major.value}.{minor.value}")


def seeing_only(index: int) -> dict[str, str]:
    """The environment in which a process sees one GPU: the one of this index among those that this process may see.

    None at all where there is no such.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return {"CUDA_VISIBLE_DEVICES": str(index)}
    names = visible.split(",")
    return {"CUDA_VISIBLE_DEVICES": names[index].strip() if index < len(names) else ""}
