"""Whether a target can be built on this machine; known without torch, before the long work."""

from backends import available
from backends.tensorrt.build_check import check_buildable
from backends.tensorrt.cuda import device_number
from backends.tensorrt.gpu import gpu
from pipeline.base.device import check_device, engine_device
from zoo.errors import BackendUnavailableError, InputError
from zoo.target import ENGINE_BACKENDS, AxisRange, Target
from zoo.windows import WINDOW_BATCH


def check_target(target: Target, own: Target) -> None:
    """Whether the target can be built on this machine.

    ``own``: the config's target. Its engine options are for backends with engines, and no fault elsewhere. Raises
    InputError and BackendUnavailableError.
    """
    if target.backend == "pytorch":
        raise InputError(
            "backend pytorch is the reference itself, and there is nothing to build for it; give --backend onnxruntime"
        )
    reason = available()[target.backend]
    if reason is not None:
        raise BackendUnavailableError(f"backend {target.backend} is not available: {reason}")
    if target.precision != "fp32" and target.level == "plugin":
        raise InputError(
            f"precision {target.precision} at output level plugin: nothing here runs plugin nodes, so no range can be "
            "measured; give --output-level decoded or --precision fp32"
        )
    if target.backend in ENGINE_BACKENDS and target.thresholds:
        raise InputError(
            f"thresholds as inputs with backend {target.backend}: TensorRT takes inputs that may be left out for "
            "constants; leave export.inputs.thresholds out"
        )
    check_device(target.device)
    if target.backend in ENGINE_BACKENDS:
        check_buildable(target.backend, target.engine, engine_device(target), _batch_of_the_file(target))
        return
    if target.engine != own.engine:
        raise InputError(
            f"engine options with backend {target.backend}: it builds no engine; leave --engine out, or give --backend "
            "tensorrt or tensorrt-rtx"
        )
    _check_provider(target.device)


def _batch_of_the_file(target: Target) -> AxisRange:
    """The batches that an engine takes: of images, or of windows that the host cuts."""
    if target.slide != "host":
        return target.batch
    most = target.window_batch or WINDOW_BATCH
    return AxisRange(1, min(2, most), most)


def _check_provider(device: str) -> None:
    """Whether ONNX Runtime can run there; found out before the export, not after it."""
    from backends.onnxruntime.providers import provider_options

    provider_options(device)
    if device != "cpu" and gpu(device_number(device)) is None:
        raise BackendUnavailableError(f"device {device}: this machine has no such GPU; give --device cpu, or cuda:0")
