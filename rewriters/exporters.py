"""torch's two exporters: a module and its inputs by name become an ONNX model. What torch raises is raised.

`operators`: those whose nodes become ours (see rewriters.ops.operator); None leaves torch alone.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr
from io import BytesIO
from typing import Any

import onnx
import torch
from torch import Tensor, nn

import rewriters.ops.mark  # noqa: F401  # declares the marker, which any model may use
from rewriters.ops.dynamo_nodes import dynamo_nodes
from rewriters.ops.operator import Operator
from rewriters.ops.torchscript_nodes import torchscript_nodes
from rewriters.precision.library_messages import Dropped
from rewriters.symbolic.legacy_functions import refusing_untraceable_functions
from zoo.errors import ExportError
from zoo.ops.mark import exporting_marks


def by_torchscript(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    *,
    opset: int,
    axes: Mapping[str, Mapping[int, str]],
    operators: Mapping[str, Operator] | None,
    output_names: Sequence[str] | None = None,
) -> onnx.ModelProto:
    """`axes`: those that vary, by input and place, with their names."""
    stream = BytesIO()
    with ExitStack() as context:
        context.enter_context(_no_graph_printed())
        if operators is not None:
            context.enter_context(exporting_marks())
            context.enter_context(torchscript_nodes(operators, opset))
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            stream,  # type: ignore[arg-type]  # a stream is documented for this exporter
            dynamo=False,
            opset_version=opset,
            input_names=list(inputs),
            output_names=output_names,
            dynamic_axes=axes or None,
        )
    return onnx.load_model_from_string(stream.getvalue())


@contextmanager
def _no_graph_printed() -> Iterator[None]:
    """torch's C++ writes the graph of a model that it refuses to stdout, whatever its log is set to."""
    native: Any = torch._C  # noqa: SLF001
    print_graph = native._jit_onnx_log  # noqa: SLF001
    native._jit_onnx_log = lambda *_: None  # noqa: SLF001
    try:
        yield
    finally:
        native._jit_onnx_log = print_graph  # noqa: SLF001


def by_dynamo(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    *,
    opset: int,
    shapes: tuple[Mapping[int, Any], ...] | None,
    operators: Mapping[str, Operator] | None,
    output_names: Sequence[str] | None = None,
) -> onnx.ModelProto:
    """`shapes`: the torch.export.Dim of each axis that varies, by place, for each input; None where none does."""
    with ExitStack() as context:
        context.enter_context(refusing_untraceable_functions())
        if sys.stderr is not None:  # torch prints the graph of a model that it refuses
            context.enter_context(redirect_stderr(Dropped(sys.stderr)))
        if operators is not None:
            context.enter_context(exporting_marks())
        program = torch.onnx.export(
            module,
            tuple(inputs.values()),
            dynamo=True,
            opset_version=opset,
            input_names=list(inputs),
            output_names=output_names,
            dynamic_shapes=shapes,
            custom_translation_table=None if operators is None else dynamo_nodes(operators),
            verbose=False,
        )
    if program is None:
        raise ExportError("torch's dynamo exporter gave no program")
    return program.model_proto
