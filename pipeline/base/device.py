"""The device that something runs on, checked before the long work."""

from backends.registry import get_backend
from zoo.errors import BackendUnavailableError, InputError
from zoo.target import REFERENCE_BACKEND


def reference_device(device: str) -> str:
    """Where PyTorch runs beside a backend on `device`: there, or on the CPU where PyTorch has no such device."""
    try:
        get_backend(REFERENCE_BACKEND).check_device(device)
    except InputError:
        return "cpu"
    return device


def check_torch_device(device: str) -> None:
    """Raises BackendUnavailableError where PyTorch cannot run there, InputError for what is no device."""
    get_backend(REFERENCE_BACKEND).check_device(device)
    if device == "cpu":
        return
    import torch

    count = torch.cuda.device_count()
    if int(device.partition(":")[2] or 0) >= count:
        raise BackendUnavailableError(f"device {device}: PyTorch finds {count} CUDA devices here; give --device cpu")
