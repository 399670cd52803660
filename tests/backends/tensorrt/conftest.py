"""A runner on stand-ins for CUDA and TensorRT: everything but the device."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.tensorrt import cuda as cuda_module
from backends.tensorrt import runner as runner_module
from backends.tensorrt.runner import TensorRTRunner
from tests.backends.tensorrt.fake_cuda import FakeCuda
from tests.backends.tensorrt.fake_tensorrt import FakeTensorRT
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

X = TensorSpec("x", "float32", ("N", 3))
TWICE = TensorSpec("twice", "float32", ("N", 3))
COUNT = TensorSpec("count", "int64", ("N",))
FOUND = TensorSpec("found", "float32", ("F",))


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """CUDA of the host's memory; DLPack calls it so, too."""
    fake = FakeCuda()
    monkeypatch.setattr(cuda_module, "bindings", lambda: fake)
    monkeypatch.setattr(cuda_module, "DLPACK_CUDA", 1)
    return fake


@pytest.fixture
def library(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> FakeTensorRT:
    """TensorRT with an engine that runs on the host."""
    fake = FakeTensorRT(cuda)
    monkeypatch.setattr(runner_module, "library", lambda backend: fake)
    monkeypatch.setattr(runner_module, "can_run", lambda backend, device: None)
    return fake


@pytest.fixture
def make(library: FakeTensorRT, tmp_path: Path) -> Callable[..., TensorRTRunner]:
    """make(cuda_graph=...) -> a runner of the stand-in's engine."""

    def made(outputs: Any = (TWICE, COUNT), largest: int = 4, **options: Any) -> TensorRTRunner:
        path = tmp_path / "model.engine"
        path.write_bytes(b"plan")
        axes = {"N": AxisRange(1, 1, largest)}
        return TensorRTRunner(path, [X], outputs, axes, backend="tensorrt-rtx", **options)

    return made
