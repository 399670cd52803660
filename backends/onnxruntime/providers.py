"""Execution providers by the names that people use, and their options."""

from typing import Any

import onnxruntime

from backends.engine_options import EngineOptions
from backends.profiles import Profile
from zoo.byte_sizes import MEBIBYTE
from zoo.errors import BackendUnavailableError, InputError, nearest

SHORT_NAMES = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "tensorrt-rtx": "NvTensorRTRTXExecutionProvider",
}
BUILDERS = ("tensorrt", "tensorrt-rtx")
"""Those that build an engine, by their short names."""
REMEDIES = {
    "cuda": "pip install onnxruntime-gpu",
    "tensorrt": "pip install onnxruntime-gpu, and TensorRT",
    # ONNX Runtime 1.32 has it no more: NVIDIA's is a plugin, which sessions take in another way
    "tensorrt-rtx": "an onnxruntime below 1.32 that is built with it, or deploy with --backend tensorrt-rtx",
}


def provider_options(
    provider: str, engine: EngineOptions | None = None, profile: Profile | None = None, cache: str | None = None
) -> tuple[str, dict[str, str]]:
    """ONNX Runtime's name and options for "cpu", "cuda", "tensorrt", "tensorrt-rtx", or ONNX Runtime's own names.

    All but the first may have a device: "cuda:1". TF32 is off on CUDA: it would change an fp32 model's numbers;
    TensorRT's providers have no option for it, so set NVIDIA_TF32_OVERRIDE=0 there. On CUDA cuDNN chooses algorithms
    by its heuristics: trying them all makes the first call with each input size slow, and later ones hardly ever
    faster (docs/gpu.md). `engine`, `profile` (the first of
    the engine's, of its whole range: the provider does not choose among several) and `cache`, a folder for engines and
    timings, are for both of TensorRT. Raises InputError for a name that is none and for engine options that the
    provider has not, and BackendUnavailableError, naming what there is, for a provider that this onnxruntime lacks.

    Sources of the options' names: ONNX Runtime's TensorrtExecutionProvider (tensorrt_execution_provider_info.cc, and
    its page "TensorRT Execution Provider"), NvTensorRTRTXExecutionProvider (nv_provider_options.h, and NVIDIA's page
    "Provider options" of the TensorRT-RTX provider).
    """
    short, colon, device = short_name(provider).partition(":")
    name = SHORT_NAMES.get(short, short)
    known = dict.fromkeys((*SHORT_NAMES, *SHORT_NAMES.values(), *onnxruntime.get_all_providers()))
    if name not in known:
        raise InputError(f'unknown provider "{provider}"; {nearest(provider, known)}')
    if colon and not (short in SHORT_NAMES and short != "cpu" and device.isdecimal()):
        raise InputError(f'provider "{provider}": expected a device number after "cuda:", for example cuda:0')
    here = onnxruntime.get_available_providers()
    if name not in here:
        remedy = REMEDIES.get(short, f"an onnxruntime built with {name}")
        raise BackendUnavailableError(
            f"provider {name} is not available in onnxruntime {onnxruntime.__version__} "
            f"(available: {', '.join(here)}); use provider cpu, or {remedy}"
        )
    if engine is not None and short not in BUILDERS:
        raise InputError(
            f"engine options with provider {provider}: it builds no engine; leave them out, or use provider "
            f"{' or '.join(BUILDERS)}"
        )
    options = {"device_id": device or "0"}
    if short == "cuda":
        return name, options | {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"}
    if short == "tensorrt":
        return name, options | _tensorrt(provider, engine or EngineOptions(), profile, cache)
    if short == "tensorrt-rtx":
        return name, options | _tensorrt_rtx(provider, engine or EngineOptions(), profile, cache)
    return name, {}


def short_name(provider: str) -> str:
    """A provider's name, with its device, with the short form in place of ONNX Runtime's own, where it has one."""
    name, colon, device = provider.partition(":")
    return next((short for short, long in SHORT_NAMES.items() if long == name), name) + colon + device


def _tensorrt(provider: str, engine: EngineOptions, profile: Profile | None, cache: str | None) -> dict[str, str]:
    _refuse(provider, engine, (*OF_A_BUILD, "version_compatible", "refittable", "compute_capabilities", "batches"))
    options = _shapes("trt", profile)
    if engine.workspace_mib is not None:
        options["trt_max_workspace_size"] = str(engine.workspace_mib * MEBIBYTE)
    if engine.optimization_level is not None:
        options["trt_builder_optimization_level"] = str(engine.optimization_level)
    if engine.hardware_compatible:
        options["trt_engine_hw_compatible"] = "1"
    if cache is not None:
        options |= {"trt_engine_cache_enable": "1", "trt_engine_cache_path": cache}
        if engine.timing_cache:
            options |= {"trt_timing_cache_enable": "1", "trt_timing_cache_path": cache}
    return options


def _tensorrt_rtx(provider: str, engine: EngineOptions, profile: Profile | None, cache: str | None) -> dict[str, str]:
    options_taken = (
        "optimization_level",
        "version_compatible",
        "hardware_compatible",
        "refittable",
        "compute_capabilities",
    )
    _refuse(provider, engine, (*OF_A_BUILD, *options_taken, "batches", "timing_cache"))
    options = _shapes("nv", profile)
    if engine.workspace_mib is not None:
        options["nv_max_workspace_size"] = str(engine.workspace_mib * MEBIBYTE)
    if cache is not None:
        options["nv_runtime_cache_path"] = cache
    return options


OF_A_BUILD = ("timeout_seconds", "memory_limit_mib")  # in a process of its own, which ONNX Runtime does not start


def _refuse(provider: str, engine: EngineOptions, names: tuple[str, ...]) -> None:
    """Raise InputError where an option is set that the provider does not take: it would silently be left out."""
    default = EngineOptions()
    for name in names:
        value = getattr(engine, name)
        if value != getattr(default, name):
            raise InputError(
                f"engine option {name}={value!r}: ONNX Runtime's provider {provider} has no such option; leave it out, "
                f"or deploy with --backend {provider.partition(':')[0]}"
            )


def _shapes(prefix: str, profile: Profile | None) -> dict[str, Any]:
    """The profile as the providers read it, "images:1x3x64x64,image_sizes:1x2"."""
    if profile is None:
        return {}
    bounds = zip(("min", "opt", "max"), zip(*profile.values(), strict=True), strict=True)
    return {
        f"{prefix}_profile_{bound}_shapes": ",".join(
            f"{name}:{'x'.join(map(str, shape))}" for name, shape in zip(profile, shapes, strict=True)
        )
        for bound, shapes in bounds
    }
