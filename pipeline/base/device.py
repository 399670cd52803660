"""The device that something runs on, checked before the long work."""

import re

from zoo.errors import BackendUnavailableError, InputError
from zoo.target import Target


def check_device(device: str) -> None:
    """Raises InputError for what is no device."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise InputError(f'device "{device}": expected cpu, cuda or cuda:N, for example cuda:0')


def check_torch_device(device: str) -> None:
    """Raises BackendUnavailableError where PyTorch cannot run there, InputError for what is no device."""
    check_device(device)
    if device == "cpu":
        return
    import torch

    count = torch.cuda.device_count()
    if int(device.partition(":")[2] or 0) >= count:
        raise BackendUnavailableError(f"device {device}: PyTorch finds {count} CUDA devices here; give --device cpu")


def engine_device(target: Target) -> str:
    """Where an engine is built, and runs: the target's CUDA device, or the first."""
    return "cuda:0" if target.device == "cpu" else target.device
