"""What a backend builds of the graph: what it refuses is explained, what it computes in is read back."""

from pathlib import Path

import onnx
from torch import nn

from backends.backend import BuildRequest, Built
from backends.refused import GraphRefusedError
from backends.registry import get_backend
from pipeline.export.host_part import HostPart, dynamic_axes
from pipeline.export.scales import shape_values
from pipeline.preflight import explain
from rewriters.export_onnx import tensor_spec
from rewriters.precision.report import DTYPES, PrecisionReport
from zoo.errors import ExportError
from zoo.manifest import ONNX_FILE
from zoo.target import Target


def engine_step(
    target: Target,
    folder: Path,
    model: nn.Module,
    precision: PrecisionReport | None = None,
    host: HostPart | None = None,
) -> Built | None:
    """What the backend builds of the folder's ONNX file, written beside it; None where it builds nothing.

    `model` says which scales it has; `precision`: what the file was brought to, None for fp32; `host`: what the backend
    does on the host. Raises ExportError where the backend refuses the graph, or would not compute in the
    target's precision, and what the build raises.
    """
    backend = get_backend(target.backend)
    if not backend.files:
        return None
    path = folder / ONNX_FILE
    graph = onnx.load(path)
    inputs = [tensor_spec(value) for value in graph.graph.input]
    axes = dynamic_axes(target) if host is None else host.file_axes(target)
    try:
        built = backend.build(BuildRequest(path, target, inputs, axes, shape_values(model)))
    except GraphRefusedError as error:
        raise explain(error, graph, target) from error
    if precision is not None and built is not None:
        check_computed(precision, built)
    return built


def check_computed(report: PrecisionReport, built: Built) -> None:
    """Raise ExportError unless the engine computes as many layers in the report's precision as the file has in it."""
    dtype = DTYPES[report.precision]
    stored, computed = report.nodes.get(dtype, 0), built.layers.get(dtype, 0)
    if computed < max(1, stored):
        raise ExportError(
            f"precision {report.precision}: {stored} layers of {ONNX_FILE} are in {dtype}, and the engine computes "
            f"{computed} in it ({dict(built.layers)}); see what keeps them in fp32: export.precision in the config"
        )
