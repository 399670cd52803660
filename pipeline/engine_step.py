"""The engine of a deployment: what TensorRT refuses is told before and after, what it computes in is read back."""

from pathlib import Path

import onnx
from torch import nn

from backends.tensorrt.build import build_engine
from backends.tensorrt.engine_record import EngineRecord
from backends.tensorrt.refused import EngineRefusedError
from pipeline.describe import ENGINE_FILE, ONNX_FILE
from pipeline.preflight import explain
from pipeline.scales import shape_values
from rewriters.export_onnx import tensor_spec
from zoo.errors import ExportError
from zoo.target import AxisRange, Target
from zoo.windows import Windows

LOWER = {"fp16": "float16", "int8": "int8"}


def engine_step(target: Target, folder: Path, model: nn.Module, windows: Windows | None = None) -> EngineRecord | None:
    """Build the engine of the folder's ONNX file, and write it and its record beside it; None for other backends.

    `model` says which scales it has; `windows`: where the file is the model of one. Raises ExportError where TensorRT
    refuses the graph, or would not compute in the target's precision, and as build_engine does.
    """
    if not target.backend.startswith("tensorrt"):
        return None
    path = folder / ONNX_FILE
    graph = onnx.load(path)
    inputs = [tensor_spec(value) for value in graph.graph.input]
    axes = {axis: getattr(target, axis) for axis in target.dynamic_axes}
    if windows is not None:
        axes = {"batch": AxisRange(1, min(2, windows.batch), windows.batch)}
    try:
        record = build_engine(
            path, folder / ENGINE_FILE, target.backend, target.engine, inputs, axes, shape_values(model)
        )
    except EngineRefusedError as error:
        raise explain(error, graph, target) from error
    lower = LOWER.get(target.precision)
    if lower is not None and not record.layers.get(lower):
        raise ExportError(
            f"{path}: precision {target.precision} was asked for, and no layer of the engine computes in {lower} "
            f"({record.layers}); see what keeps them in fp32: export.precision in the config"
        )
    return record
