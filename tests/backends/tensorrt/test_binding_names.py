"""What the run half and its stand-ins use of NVIDIA's libraries is there, found by reading our source."""

import ast
from pathlib import Path
from typing import Any

import pytest

from backends.tensorrt import cuda as cuda_module
from backends.tensorrt.engine_io import DTYPES
from tests.backends.tensorrt import fake_tensorrt
from tests.backends.tensorrt.fake_cuda import CaptureMode, CopyKind, Error, FakeCuda

SOURCES = [Path(cuda_module.__file__), Path(cuda_module.__file__).with_name("running.py")]


def cuda_names() -> set[str]:
    """Every attribute in our source that begins with cuda."""
    nodes = [node for source in SOURCES for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr.startswith("cuda")}


def test_cudas_names() -> None:
    real = pytest.importorskip("cuda.bindings.runtime", reason="cuda-python is not installed: pip install cuda-python")
    used = cuda_names()
    assert len(used) > 30
    inside = (real.cudaError_t, real.cudaMemcpyKind, real.cudaStreamCaptureMode)
    missing = [name for name in used if not hasattr(real, name) and not any(hasattr(enum, name) for enum in inside)]
    assert not missing


def test_the_stand_in_for_cuda_has_the_real_names_and_values() -> None:
    real = pytest.importorskip("cuda.bindings.runtime", reason="cuda-python is not installed: pip install cuda-python")
    for name in vars(FakeCuda):
        if name.startswith("cuda"):
            assert hasattr(real, name), name
    for fake, enum in (
        (Error, real.cudaError_t),
        (CopyKind, real.cudaMemcpyKind),
        (CaptureMode, real.cudaStreamCaptureMode),
    ):
        for member in fake:
            assert getattr(enum, member.name).value == member.value


@pytest.mark.tensorrt
def test_the_stand_in_for_tensorrt_has_the_real_names() -> None:
    real = pytest.importorskip("tensorrt_rtx", reason="tensorrt_rtx is not installed: pip install tensorrt-rtx")
    pairs: list[tuple[Any, Any]] = [
        (fake_tensorrt.Runtime, real.Runtime),
        (fake_tensorrt.Engine, real.ICudaEngine),
        (fake_tensorrt.Context, real.IExecutionContext),
        (fake_tensorrt.Mode, real.TensorIOMode),
        (fake_tensorrt.Location, real.TensorLocation),
        (fake_tensorrt.ILogger, real.ILogger),
    ]
    for fake, theirs in pairs:
        methods = [name for name in vars(fake) if not name.startswith("_")]
        assert methods
        assert [name for name in methods if not hasattr(theirs, name)] == []
    assert hasattr(real.Runtime, "engine_host_code_allowed")
    for name in ("num_io_tensors", "num_optimization_profiles"):
        assert hasattr(real.ICudaEngine, name)
    assert hasattr(real.IExecutionContext, "active_optimization_profile")
    assert set(DTYPES) <= set(real.DataType.__members__)


@pytest.mark.tensorrt
def test_our_subclasses_are_ones_of_the_real_classes() -> None:
    """Made with the real bindings, which take a subclass whose base is not initialised for a null pointer."""
    real = pytest.importorskip("tensorrt_rtx", reason="tensorrt_rtx is not installed: pip install tensorrt-rtx")
    from backends.tensorrt.output_allocator import output_allocator
    from backends.tensorrt.run_log import run_log

    allocator, log = output_allocator(real), run_log(real)
    assert isinstance(allocator, real.IOutputAllocator)
    assert isinstance(log, real.ILogger)
    log.log(real.ILogger.ERROR, "one\ntwo")
    assert log.reason() == "one two"
    assert log.reason() == "it gives no reason"
    allocator.notify_shape("x", real.Dims((2, 3)))
    assert allocator.shape == (2, 3)
    assert allocator.reallocate_output_async("x", 0, 4, 256, 0) == 0, "no buffer is set"
