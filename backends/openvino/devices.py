"""OpenVINO's devices by the names that people use. Imports nothing of OpenVINO."""

from backends.registry import get_backend

DEVICES = "cpu, gpu, gpu:N, npu or auto, for example gpu:0"
DEVICE_PATTERN = r"cpu|gpu(:\d{1,3})?|npu|auto"


def openvino_name(device: str) -> str:
    """A device as OpenVINO names it: GPU.1 for "gpu:1". Raises InputError for what is no device."""
    get_backend("openvino").check_device(device)
    return device.upper().replace(":", ".")


def hint(device: str, precision: str) -> str:
    """What floats are computed in, OpenVINO's name of it: "f32", or "f16" for an fp16 file on a GPU, NPU or auto.

    The CPU computes in fp32 always, so that a deployment gives the same numbers on every one.
    """
    return "f16" if precision == "fp16" and device != "cpu" else "f32"
