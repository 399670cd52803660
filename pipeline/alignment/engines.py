"""What runs pieces of a graph, for the backends that make kernels of several operators."""

from pathlib import Path

import onnx

from backends.registry import get_backend
from backends.runner import Runner
from pipeline.graphs.graph_runs import Opener, default_opener
from rewriters.export_onnx import tensor_spec
from zoo.errors import BackendUnavailableError
from zoo.target import DEFAULT_BACKEND, Target


def fuses(target: Target) -> bool:
    """Whether the target's backend makes kernels of several operators, so that tensors between them are not seen."""
    return get_backend(target.backend).fuses


def piece_opener(target: Target) -> Opener:
    """What runs a piece as the target's backend and device do. BackendUnavailableError where they cannot run here."""
    reason = get_backend(target.backend).can_run(target.device)
    if reason is not None:
        raise BackendUnavailableError(
            f"backend {target.backend}: no engine can run here, so its layers cannot be compared: {reason}; align "
            f"the same graph with --backend {DEFAULT_BACKEND}"
        )
    return _own_opener(target)


def whole_opener(target: Target) -> Opener:
    """What runs the whole graph where its pieces are not run: the target's backend, if it does not fuse."""
    return default_opener if fuses(target) else _own_opener(target)


def _own_opener(target: Target) -> Opener:
    def open_piece(path: Path) -> Runner:
        model = onnx.load(path)
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = [tensor_spec(value) for value in model.graph.input if value.name not in constants]
        outputs = [tensor_spec(value) for value in model.graph.output]
        axes = {axis: target.axes[axis] for axis in target.dynamic_axes}
        return get_backend(target.backend).open_graph(path, inputs, outputs, axes, target)

    return open_piece
