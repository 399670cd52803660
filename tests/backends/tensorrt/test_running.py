"""Whether an engine can run here: each reason in words, and nothing of NVIDIA's imported to find it."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backends.gpu import Gpu
from backends.tensorrt import running
from backends.tensorrt.backend import TensorRT
from backends.tensorrt.running import RTX_CAPABILITIES, can_run
from tests.backends.tensorrt.fake_cuda import Error, FakeCuda

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """A machine with the libraries, a driver and one GPU."""
    fake = FakeCuda()
    monkeypatch.setattr(TensorRT, "lack", lambda backend: None)
    monkeypatch.setattr(running, "_has_cuda_python", lambda: True)
    monkeypatch.setattr(running, "bindings", lambda: fake)
    monkeypatch.setattr(running, "gpu", lambda number: Gpu("NVIDIA RTX 4090", "8.9"))
    return fake


def test_it_can(here: FakeCuda) -> None:
    assert can_run("tensorrt") is None
    assert can_run("tensorrt-rtx", "cuda") is None


def test_a_gpu_that_tensorrt_rtx_is_not_for(here: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "gpu", lambda number: Gpu("NVIDIA H100", "9.0"))
    assert can_run("tensorrt-rtx") == (
        "NVIDIA H100 has compute capability 9.0, and tensorrt-rtx runs on 7.5, 8.0, 8.6, 8.9, 12.0, 12.1; "
        "use backend tensorrt there"
    )
    assert can_run("tensorrt") is None


@pytest.mark.parametrize(
    ("devices", "device", "words"),
    [
        (1, "cuda:1", "no device cuda:1; there is cuda:0"),
        (2, "cuda:5", "no device cuda:5; there is cuda:0 to cuda:1"),
        (1, "cpu", 'device "cpu": TensorRT runs on CUDA devices; expected cuda or cuda:N, such as cuda:0'),
    ],
)
def test_devices_that_are_not_there(here: FakeCuda, devices: int, device: str, words: str) -> None:
    here.devices = devices
    assert can_run("tensorrt", device) == words


@pytest.mark.parametrize(
    ("error", "driver", "words"),
    [
        (Error.cudaErrorInsufficientDriver, 0, "there is no NVIDIA driver"),
        (
            Error.cudaErrorInsufficientDriver,
            12020,
            (
                "the NVIDIA driver is for CUDA 12.2, and cuda-python for 13.5; update the driver, or install a "
                "cuda-python of the driver's version"
            ),
        ),
        (Error.cudaErrorNoDevice, 13050, "there is no NVIDIA GPU that CUDA can use (something else)"),
    ],
)
def test_drivers_that_do_not_do(here: FakeCuda, error: Error, driver: int, words: str) -> None:
    here.driver = driver
    here.fails["cudaGetDeviceCount"] = error
    assert can_run("tensorrt") == words


def test_libraries_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    missing = {"tensorrt_rtx"}

    def without(name: str, package: str | None = None) -> Any:
        return None if name in missing else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    assert can_run("tensorrt-rtx") == 'tensorrt_rtx is not installed; pip install "zooport[tensorrt-rtx]"'
    missing = {"cuda.bindings"}
    monkeypatch.setattr(TensorRT, "lack", lambda backend: None)
    assert can_run("tensorrt-rtx") == "cuda-python, which engines run with, is not installed; pip install cuda-python"


def test_a_machine_without_anything_gets_an_answer_and_no_import() -> None:
    """Whatever this machine has: TensorRT is not imported, and the answer is a reason or none."""
    code = (
        "import sys; from backends.tensorrt.running import can_run\n"
        "for backend in ('tensorrt', 'tensorrt-rtx'):\n"
        "    reason = can_run(backend)\n"
        "    assert reason is None or (reason and chr(10) not in reason), reason\n"
        "print(sorted({'tensorrt', 'tensorrt_rtx', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.tensorrt
def test_the_gpus_are_those_that_the_library_names() -> None:
    library = pytest.importorskip("tensorrt_rtx", reason="tensorrt_rtx is not installed: pip install tensorrt-rtx")
    named = {name.removeprefix("SM") for name in library.ComputeCapability.__members__ if name.startswith("SM")}
    assert named == {capability.replace(".", "") for capability in RTX_CAPABILITIES}
