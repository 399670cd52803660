"""Engines of pieces of a graph, for the backends that fuse."""

from collections.abc import Callable
from pathlib import Path

import onnx

from backends.runner import Runner
from pipeline.graphs.graph_runs import Opener, onnxruntime_opener
from rewriters.export_onnx import tensor_spec
from zoo.errors import BackendUnavailableError
from zoo.target import AxisRange, Target

FUSING = ("tensorrt", "tensorrt-rtx")


def piece_opener(target: Target) -> Opener:
    """What runs a piece as the target's backend does. BackendUnavailableError where no engine of it can run here."""
    if target.backend not in FUSING:
        return onnxruntime_opener
    from backends.tensorrt.running import can_run

    device = target.device if target.device != "cpu" else "cuda:0"
    reason = can_run(target.backend, device)
    if reason is not None:
        raise BackendUnavailableError(
            f"backend {target.backend}: no engine can run here, so its layers cannot be compared: {reason}; align "
            "the same graph with --backend onnxruntime"
        )
    return _engine_opener(target, device)


def _engine_opener(target: Target, device: str) -> Callable[[Path], Runner]:
    from backends.tensorrt.build import build_engine
    from backends.tensorrt.runner import TensorRTRunner

    def open_engine(path: Path) -> Runner:
        model = onnx.load(path)
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = [tensor_spec(value) for value in model.graph.input if value.name not in constants]
        outputs = [tensor_spec(value) for value in model.graph.output]
        axes = {axis: getattr(target, axis) for axis in target.dynamic_axes}
        named = {side for spec in inputs for side in spec.shape if isinstance(side, str)}
        axes |= {name: AxisRange(1, 1, 1) for name in named - axes.keys()}
        plan = path.with_suffix(".engine")
        build_engine(path, plan, target.backend, target.engine, inputs, axes, precision=target.precision, device=device)
        return TensorRTRunner(plan, inputs, outputs, axes, backend=target.backend, device=device)

    return open_engine
