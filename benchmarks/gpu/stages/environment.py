"""(a) What is there, and what of it zooport can use."""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from backends.registry import backends
from gpu.lacks import no_device
from gpu.stage import Cell, Findings, Place, Stage
from gpu.start_onnxruntime import WAYS

if TYPE_CHECKING:
    from torch import Tensor

SCRIPT = Path(__file__).parents[1] / "start_onnxruntime.py"


def cells(place: Place) -> Iterator[Cell]:
    """One for all backends, one for torch, and one for each way in which ONNX Runtime may start."""
    yield Cell("backends", "what each can do here", _backends)
    for way in place.one_or_all(WAYS):
        yield Cell("ONNX Runtime starts", way, partial(_starts, way))
    yield Cell("torch", "numbers beside the CPU's", _torch)


def _backends(place: Place, findings: Findings) -> None:
    for name, backend in backends().items():
        with findings.trying(name):
            findings.add({name: backend.lack() or backend.can_run(backend.device(place.device)) or "can run"})


def _starts(way: str, place: Place, findings: Findings) -> None:
    """In a process of its own, which has loaded nothing else."""
    command = [sys.executable, str(SCRIPT), place.device, way]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        findings.fault("start", done.stderr.strip()[-400:] or f"exit status {done.returncode}")
        return
    figures = json.loads(done.stdout.splitlines()[-1])
    if "error" in figures:
        findings.fault("start", figures["error"])
    else:
        findings.add(figures)


def _torch(place: Place, findings: Findings) -> None:
    """A product of matrices and a convolution on the device, beside the CPU in float64."""
    import torch

    findings.add({"torch": torch.__version__, "built for CUDA": torch.version.cuda})
    findings.add({"cuDNN": torch.backends.cudnn.version(), "devices": torch.cuda.device_count()})  # type: ignore[no-untyped-call]
    torch.manual_seed(0)
    matrix = torch.rand(256, 256, dtype=torch.float64)
    images, weights = matrix.reshape(1, 16, 64, 64), torch.rand(16, 16, 3, 3, dtype=torch.float64)
    for dtype in (torch.float32, torch.float16):
        with findings.trying(str(dtype)), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            there = matrix.to(place.device, dtype)
            convolved = torch.conv2d(images.to(place.device, dtype), weights.to(place.device, dtype))
            findings.add(
                {
                    f"product off by, {dtype}": _off(there @ there, matrix @ matrix),
                    f"convolution off by, {dtype}": _off(convolved, torch.conv2d(images, weights)),
                }
            )


def _off(actual: "Tensor", expected: "Tensor") -> float:
    """The largest difference, as a part of the largest value."""
    return float((actual.double().cpu() - expected).abs().max() / expected.abs().max())


STAGE = Stage(
    1,
    "environment",
    "Which device, driver and versions are there, and which backends can run?",
    cells,
    no_device,
)
