"""What a network is built with: options and ranges of shapes, in TensorRT's terms."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from backends.engine_options import EngineOptions
from backends.profiles import Profile
from backends.tensorrt.build_check import check_capabilities
from zoo.byte_sizes import MEBIBYTE
from zoo.errors import InputError


def configure(trt: ModuleType, config: Any, backend: str, options: EngineOptions) -> None:
    """Set the options. TF32 is off: fp32 is fp32. Raises InputError for a compute capability the library has not."""
    config.clear_flag(trt.BuilderFlag.TF32)
    if options.workspace_mib is not None:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, options.workspace_mib * MEBIBYTE)
    if options.optimization_level is not None:
        config.builder_optimization_level = options.optimization_level
    if options.version_compatible:
        config.set_flag(trt.BuilderFlag.VERSION_COMPATIBLE)
    if options.refittable:
        config.set_flag(trt.BuilderFlag.REFIT)
    if options.hardware_compatible and backend == "tensorrt":  # an engine of tensorrt-rtx is so without a flag
        config.hardware_compatibility_level = trt.HardwareCompatibilityLevel.AMPERE_PLUS
    if options.compute_capabilities:
        _set_capabilities(trt, config, options.compute_capabilities)


def _set_capabilities(trt: ModuleType, config: Any, requested: Sequence[str]) -> None:
    """("8.9", "12.0") are SM89 and SM120. None of them set, tensorrt-rtx builds for 8.0 and later."""
    known = check_capabilities(trt, requested)
    config.num_compute_capabilities = len(requested)
    for index, text in enumerate(requested):
        if not config.set_compute_capability(known[text], index):
            raise InputError(f"engine option compute_capabilities: {trt.__name__} {trt.__version__} refuses {text}")


def add_profiles(
    builder: Any,
    config: Any,
    network: Any,
    shapes: Sequence[Profile],
    values: Mapping[str, tuple[int, int, int]],
) -> None:
    """Give the builder the ranges. An input whose values decide shapes gets its range of values, and no shapes.

    Raises InputError where the inputs are not those of the graph, or such an input has no `values`.
    """
    tensors = [network.get_input(index) for index in range(network.num_inputs)]
    names = [tensor.name for tensor in tensors]
    if set(names) != set(shapes[0]):
        raise InputError(f"inputs: got {', '.join(shapes[0])}, expected those of the ONNX file: {', '.join(names)}")
    for ranges in shapes:
        profile = builder.create_optimization_profile()
        for tensor in tensors:
            if not tensor.is_shape_tensor:
                profile.set_shape(tensor.name, *ranges[tensor.name])
            elif tensor.name in values:
                count = tensor.shape[0] if len(tensor.shape) else 1
                profile.set_shape_input(tensor.name, *((value,) * count for value in values[tensor.name]))
            else:
                raise InputError(
                    f'input "{tensor.name}" decides the shapes of others: TensorRT needs the min, opt and max of its '
                    "values; give them, or fix it in the export"
                )
        if config.add_optimization_profile(profile) < 0:
            raise InputError(f"TensorRT takes no profile of {dict(ranges)}; give ranges that the graph takes")
