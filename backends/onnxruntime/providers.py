"""Execution providers by the names that people use."""

from typing import Any

import onnxruntime

from zoo.errors import BackendUnavailableError, InputError, nearest

SHORT_NAMES = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def provider_options(provider: str) -> tuple[str, dict[str, Any]]:
    """ONNX Runtime's name and options for "cpu", "cuda", "cuda:1" or ONNX Runtime's own names.

    TF32 is off on CUDA: it would change an fp32 model's numbers. Raises InputError for a name that is none, and
    BackendUnavailableError, naming what there is, for a provider that this onnxruntime lacks.
    """
    short, colon, device = provider.partition(":")
    name = SHORT_NAMES.get(short, short)
    known = (*SHORT_NAMES, *onnxruntime.get_all_providers())
    if name not in known:
        raise InputError(f'unknown provider "{provider}"; {nearest(provider, known)}')
    if colon and not (name == SHORT_NAMES["cuda"] and device.isdecimal()):
        raise InputError(f'provider "{provider}": expected a device number after "cuda:", for example cuda:0')
    here = onnxruntime.get_available_providers()
    if name not in here:
        remedy = "pip install onnxruntime-gpu" if name == SHORT_NAMES["cuda"] else f"an onnxruntime built with {name}"
        raise BackendUnavailableError(
            f"provider {name} is not available in onnxruntime {onnxruntime.__version__} "
            f"(available: {', '.join(here)}); use provider cpu, or {remedy}"
        )
    options = {"device_id": device or "0", "use_tf32": "0"} if name == SHORT_NAMES["cuda"] else {}
    return name, options
