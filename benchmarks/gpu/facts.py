"""The machine, as facts that stand beside figures. Of packages it looks at the metadata alone."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version

from backends.gpu import gpu
from backends.registry import backends
from gpu.stage import Figure
from pipeline.base.machine import machine

QUERY = ("driver_version", "memory.total", "power.limit", "clocks.max.sm", "persistence_mode")
SECONDS = 20  # for nvidia-smi, which hangs where the driver does
PACKAGES = ("torch", "torchvision", "onnx", "onnxruntime-gpu", "numpy", "triton", "mmengine", "transformers")


def facts() -> dict[str, Figure]:
    """Processor, system, device, driver and versions; None for what is not there."""
    here = gpu()
    known: dict[str, Figure] = {
        "machine": machine(),
        "python": platform.python_version(),
        "device": None if here is None else here.name,
        "compute capability": None if here is None else here.capability,
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }
    distributions = (name for backend in backends().values() for name in backend.distributions)
    return known | _driver() | {name: _version(name) for name in dict.fromkeys((*PACKAGES, *distributions))}


def _driver() -> dict[str, Figure]:
    """What nvidia-smi says of the first device."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {"driver_version": None}
    command = [program, f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader", "--id=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"driver_version": f"nvidia-smi: {error}"}
    if done.returncode:
        return {"driver_version": f"nvidia-smi: {done.stderr.strip() or done.stdout.strip()}"}
    return dict(zip(QUERY, (value.strip() for value in done.stdout.split(",")), strict=False))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
