"""The engine of a deployment: what TensorRT refuses is told before and after, what it computes in is read back."""

from pathlib import Path

import onnx
from torch import nn

from backends.tensorrt.build import Built, build_engine
from backends.tensorrt.engine_record import EngineRecord
from backends.tensorrt.refused import EngineRefusedError
from pipeline.base.device import engine_device
from pipeline.export.scales import shape_values
from pipeline.preflight import explain
from rewriters.export_onnx import tensor_spec
from rewriters.precision.report import DTYPES, PrecisionReport
from zoo.errors import ExportError
from zoo.manifest import ENGINE_FILE, ONNX_FILE
from zoo.target import ENGINE_BACKENDS, AxisRange, Target
from zoo.windows import Windows


def engine_step(
    target: Target,
    folder: Path,
    model: nn.Module,
    precision: PrecisionReport | None = None,
    windows: Windows | None = None,
) -> Built | None:
    """Build the engine of the folder's ONNX file, and write it and its record beside it; None for other backends.

    `model` says which scales it has; `precision`: what the file was brought to, None for fp32; `windows`: where the
    file is the model of one. Raises ExportError where TensorRT refuses the graph, or would not compute in the target's
    precision, and as build_engine does.
    """
    if target.backend not in ENGINE_BACKENDS:
        return None
    path = folder / ONNX_FILE
    graph = onnx.load(path)
    inputs = [tensor_spec(value) for value in graph.graph.input]
    axes = {axis: getattr(target, axis) for axis in target.dynamic_axes}
    if windows is not None:
        axes = {"batch": AxisRange(1, min(2, windows.batch), windows.batch)}
    try:
        built = build_engine(
            path,
            folder / ENGINE_FILE,
            target.backend,
            target.engine,
            inputs,
            axes,
            shape_values(model),
            precision=target.precision,
            device=engine_device(target),
        )
    except EngineRefusedError as error:
        raise explain(error, graph, target) from error
    if precision is not None:
        check_computed(precision, built.record)
    return built


def check_computed(report: PrecisionReport, record: EngineRecord) -> None:
    """Raise ExportError unless the engine computes as many layers in the report's precision as the file has in it."""
    dtype = DTYPES[report.precision]
    stored, computed = report.nodes.get(dtype, 0), record.layers.get(dtype, 0)
    if computed < max(1, stored):
        raise ExportError(
            f"precision {report.precision}: {stored} layers of {ONNX_FILE} are in {dtype}, and the engine computes "
            f"{computed} in it ({dict(record.layers)}); see what keeps them in fp32: export.precision in the config"
        )
