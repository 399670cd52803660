"""OpenVINO's devices by the names that people use. Imports nothing of OpenVINO."""

import re

from zoo.errors import InputError

DEVICES = "cpu, gpu, gpu:N, npu or auto, for example gpu:0"


def check_name(device: str) -> None:
    """Raises InputError for what is no device."""
    if not re.fullmatch(r"cpu|gpu(:\d{1,3})?|npu|auto", device):
        raise InputError(f'device "{device}": OpenVINO runs on {DEVICES}')


def openvino_name(device: str) -> str:
    """A device as OpenVINO names it: GPU.1 for "gpu:1". Raises InputError for what is no device."""
    check_name(device)
    return device.upper().replace(":", ".")


def hint(device: str, precision: str) -> str:
    """What floats are computed in, OpenVINO's name of it: "f32", or "f16" for an fp16 file on a GPU, NPU or auto.

    The CPU computes in fp32 always, so that a deployment gives the same numbers on every one.
    """
    return "f16" if precision == "fp16" and device != "cpu" else "f32"
