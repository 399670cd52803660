"""Why a stage cannot run on a place, in one line; None where it can."""

from backends.gpu import gpu
from gpu.stage import Place
from zoo.errors import ZooportError


def no_device(place: Place) -> str | None:
    """No CUDA device, as NVIDIA's driver sees it."""
    if place.rehearsal or gpu() is not None:
        return None
    return "there is no CUDA device: no NVIDIA driver, or no device that this process may see"


def no_torch_device(place: Place) -> str | None:
    """None that PyTorch can use."""
    reason = no_device(place)
    if place.rehearsal or reason is not None:
        return reason
    import torch

    return None if torch.cuda.is_available() else f"torch {torch.__version__} cannot use the CUDA device"


def no_provider(place: Place) -> str | None:
    """No provider of ONNX Runtime for the device."""
    from backends.onnxruntime.providers import provider_options

    reason = no_torch_device(place)
    if reason is not None:
        return reason
    try:
        provider_options(place.device)
    except ZooportError as error:
        return str(error)
    return None
