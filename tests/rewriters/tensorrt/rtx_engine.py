"""An engine of an ONNX file by tensorrt_rtx, to see whether it takes the graph."""

import importlib.util
import tempfile
from pathlib import Path

import onnx
import pytest

from backends.engine_options import EngineOptions
from backends.tensorrt.build import build_engine
from backends.tensorrt.engine_record import EngineRecord
from rewriters.export_onnx import tensor_spec
from zoo.target import AxisRange

needs_rtx = pytest.mark.skipif(
    importlib.util.find_spec("tensorrt_rtx") is None, reason="tensorrt_rtx is not installed: pip install tensorrt-rtx"
)


def rtx_engine(path: Path, *batches: int, seconds: int = 120) -> EngineRecord:
    """`batches`: the smallest, the best and the largest size of every dynamic axis. `seconds`: the build's limit.

    Raises as build_engine does.
    """
    inputs = [tensor_spec(value) for value in onnx.load(path).graph.input]
    axes = {side: AxisRange(*batches) for spec in inputs for side in spec.shape if isinstance(side, str)}
    options = EngineOptions(compute_capabilities=("8.9",), timeout_seconds=seconds)
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "model.engine"
        return build_engine(path, plan, "tensorrt-rtx", options, inputs, axes, precision="fp32").record
