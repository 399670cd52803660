"""Whether an engine can run on this machine."""

import importlib.util

from backends.gpu import gpu
from backends.registry import get_backend
from backends.tensorrt.cuda import INSTALL, bindings, device_number
from zoo.errors import ZooportError

RTX_CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "12.0", "12.1")  # tensorrt_rtx.ComputeCapability of 1.7


def can_run(backend: str, device: str = "cuda:0") -> str | None:
    """None where an engine of `backend` can run on `device` ("cuda:0") here; else the reason, in words.

    Looks from what is cheap to what is not, and imports nothing of NVIDIA's before it is known to be there. TensorRT
    itself is never loaded: without a GPU its Runtime ends the process.
    """
    lack = get_backend(backend).lack()
    if lack is not None:
        return lack
    if not _has_cuda_python():
        return f"cuda-python, which engines run with, is not installed; {INSTALL}"
    try:
        number = device_number(device)
        reason = _without_devices(number)
    except ZooportError as error:
        return str(error)
    if reason is not None:
        return reason
    found_gpu = gpu(number)
    if backend == "tensorrt-rtx" and found_gpu is not None and found_gpu.capability not in RTX_CAPABILITIES:
        return (
            f"{found_gpu.name} has compute capability {found_gpu.capability}, and tensorrt-rtx runs on "
            f"{', '.join(RTX_CAPABILITIES)}; use backend tensorrt there"
        )
    return None


def _has_cuda_python() -> bool:
    try:
        return importlib.util.find_spec("cuda.bindings") is not None
    except (ImportError, ValueError):  # there is no package cuda at all, or a stand-in without a spec
        return False


def _without_devices(number: int) -> str | None:
    """Why CUDA has no device of this number; None where it has."""
    cuda = bindings()
    success = cuda.cudaError_t.cudaSuccess
    error, count = cuda.cudaGetDeviceCount()
    if error == success and number < count:
        return None
    if error == success:
        return f"no device cuda:{number}; there is {'cuda:0' if count == 1 else f'cuda:0 to cuda:{count - 1}'}"
    _, driver = cuda.cudaDriverGetVersion()
    if error == cuda.cudaError_t.cudaErrorInsufficientDriver and driver:
        _, needed = cuda.cudaRuntimeGetVersion()
        return (
            f"the NVIDIA driver is for CUDA {_version(driver)}, and cuda-python for {_version(needed)}; update the "
            "driver, or install a cuda-python of the driver's version"
        )
    if error == cuda.cudaError_t.cudaErrorInsufficientDriver:
        return "there is no NVIDIA driver"
    _, words = cuda.cudaGetErrorString(error)
    return f"there is no NVIDIA GPU that CUDA can use ({words.decode()})"


def _version(number: int) -> str:
    """13050 -> "13.5", as CUDA counts."""
    return f"{number // 1000}.{number % 1000 // 10}"
