"""A graph must be right at other sizes than the traced one, wherever its target says that an axis varies.

The graph in ONNX Runtime is compared with the unpatched model at a second size of every dynamic axis at once. Where
they differ, each axis is tried alone, so that the error can name it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils import _pytree

from rewriters.checks.resized_example import at_sizes, example_size, second_sizes
from rewriters.checks.same_outputs import disagreement
from rewriters.onnx_graph.custom_nodes import custom_nodes
from rewriters.onnx_graph.graph_outputs import run_once
from rewriters.patching.twin import twin
from rewriters.plugins import plugin_nodes
from rewriters.symbolic.kernels import run_with_kernels
from zoo.errors import ExportError
from zoo.target import Target
from zoo.tensor_spec import TensorSpec

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Compared:
    """The unpatched model and the graph, run on the same inputs."""

    module: nn.Module
    model: onnx.ModelProto
    content: bytes
    specs: Sequence[TensorSpec]

    def reference(self, inputs: Mapping[str, Tensor]) -> list[NDArray[Any]]:
        """What eager PyTorch gives, by order; whatever the model raises is raised."""
        with torch.no_grad():
            return [leaf.numpy() for leaf in _pytree.tree_leaves(self.module(*inputs.values()))]

    def difference(self, inputs: Mapping[str, Tensor], expected: Sequence[NDArray[Any]]) -> str | None:
        """How the graph's outputs differ; None where they are the same. A refusal to run is a difference."""
        feed = {name: tensor.numpy() for name, tensor in inputs.items()}
        names = [spec.name for spec in self.specs]
        try:
            if custom_nodes(self.model):
                outputs = run_with_kernels(self.model, feed, names)
            else:
                outputs = run_once(self.content, feed, names)
        except ExportError as error:
            return str(error).splitlines()[0]
        return disagreement(names, expected, outputs)


def check_other_sizes(
    module: nn.Module,
    target: Target,
    model: onnx.ModelProto,
    content: bytes,
    example: Mapping[str, Tensor],
    output_specs: Sequence[TensorSpec],
) -> list[str]:
    """Raises ExportError, naming the axis, where the graph is wrong at another size of a dynamic axis.

    `content`: the model's file.
    -> what could not be checked, one line each: sizes at which PyTorch itself fails, and values that differ at the
    example's own size as well, so that a second one proves nothing.
    """
    if not target.dynamic_axes or plugin_nodes(model):  # plugin nodes only an engine runs
        return []
    compared = Compared(twin(module), model, content, output_specs)
    difference = _together(compared, target, example)
    if difference is None:
        return []
    unchecked = []
    for axis in target.dynamic_axes:
        line = _alone(compared, target, example, axis)
        if line is not None:
            unchecked.append(line)
    if not unchecked:  # each axis alone is right: it is the combination
        axes = ", ".join(target.dynamic_axes)
        unchecked.append(_judged(compared, example, f"another {axes} together", axes, difference))
    for line in unchecked:
        LOGGER.warning("%s", line)
    return unchecked


def _together(compared: Compared, target: Target, example: Mapping[str, Tensor]) -> str | None:
    """The difference at a second size of all dynamic axes; an error of PyTorch's own counts as one."""
    sizes = {axis: second_sizes(target, axis, example, compared.module)[0] for axis in target.dynamic_axes}
    inputs = at_sizes(example, sizes)
    try:
        expected = compared.reference(inputs)
    except Exception as error:  # noqa: BLE001  # the model is anybody's code
        return f"PyTorch itself fails: {_line(error)}"
    return compared.difference(inputs, expected)


def _alone(compared: Compared, target: Target, example: Mapping[str, Tensor], axis: str) -> str | None:
    """None where the graph is right at a second size of this axis, else why that could not be found out."""
    refusal = ""
    for size in second_sizes(target, axis, example, compared.module):
        inputs = at_sizes(example, {axis: size})
        try:
            expected = compared.reference(inputs)
        except Exception as error:  # noqa: BLE001  # the model is anybody's code
            refusal = refusal or f"{axis} {size}: {_line(error)}"
            continue
        difference = compared.difference(inputs, expected)
        at = f"{axis} {size} ({axis} {example_size(example, axis)} was traced)"
        return None if difference is None else _judged(compared, example, at, axis, difference)
    bounds = target.axes[axis]
    return (
        f"{axis} is dynamic ({bounds.min} to {bounds.max}), and PyTorch itself fails at another size, so the graph was "
        f"checked only at the traced one: {refusal}; fix the axis, or give bounds whose sizes the model takes"
    )


def _judged(compared: Compared, example: Mapping[str, Tensor], at: str, axes: str, difference: str) -> str:
    """Why a difference proves nothing. Raises ExportError where it does."""
    try:
        reference = compared.difference(example, compared.reference(example))
    except Exception as error:  # noqa: BLE001  # as above
        reference = _line(error)
    if reference is not None:
        return f"not checked at {at}: the graph differs at the example's own size already, there {reference}"
    raise ExportError(
        f"the graph is wrong at {at}: {difference}; the model or a rewriter computes something from a traced size "
        "that is a constant of the graph now, such as a Python list or number; correct that, export with the other "
        f"exporter, or fix the axis ({axes})"
    )


def _line(error: BaseException) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text}"
