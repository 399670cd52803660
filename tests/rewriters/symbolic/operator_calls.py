"""One call of an operator, exported with the symbolic rewriters of a target, and run in ONNX Runtime."""

import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch
from torch import Tensor, nn

from rewriters.graph_passes.expand_operators import expand_operators
from rewriters.ops.dynamo_nodes import dynamo_nodes
from rewriters.ops.operator import DOMAIN
from rewriters.ops.torchscript_nodes import torchscript_nodes
from rewriters.symbolic import operators_for
from tests.rewriters.small_models import fixed_target
from zoo.target import Target


class Call(nn.Module):
    """A module that makes one call, and gives a tuple."""

    def __init__(self, compute: Callable[..., Any]) -> None:
        super().__init__()
        self.compute = compute

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        result = self.compute(*tensors)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def target_of(exporter: str, opset: int = 20, backend: str = "onnxruntime") -> Target:
    return fixed_target(64, 64, exporter=exporter, opset=opset, backend=backend)


def written(compute: Callable[..., Any], tensors: Sequence[Tensor], target: Target) -> onnx.ModelProto:
    """As the exporter writes it, our nodes included. All sizes are fixed."""
    return written_module(Call(compute).eval(), tuple(tensors), target)


def written_module(module: nn.Module, tensors: tuple[Tensor, ...], target: Target) -> onnx.ModelProto:
    """The same of a module that gives a tuple."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # export_onnx records them; torchvision's own checks are traced with some
        return _written(module, tensors, target)


def _written(module: nn.Module, tensors: tuple[Tensor, ...], target: Target) -> onnx.ModelProto:
    operators = operators_for(target)
    if target.exporter == "torchscript":
        stream = io.BytesIO()
        with torchscript_nodes(operators, target.opset), torch.no_grad():
            torch.onnx.export(
                module,
                tensors,
                stream,  # type: ignore[arg-type]  # a stream is documented for this exporter
                dynamo=False,
                opset_version=target.opset,
            )
        return onnx.load_model_from_string(stream.getvalue())
    program = torch.onnx.export(
        module,
        tensors,
        dynamo=True,
        opset_version=target.opset,
        custom_translation_table=dynamo_nodes(operators),
        verbose=False,
    )
    assert program is not None
    return program.model_proto


def check_equal(
    compute: Callable[..., Any], tensors: Sequence[Tensor], target: Target, atol: float = 1e-5, *, ours: bool = True
) -> onnx.ModelProto:
    """The translated graph gives what eager PyTorch gives; `ours`: whether a symbolic rewriter has to have acted."""
    expected = Call(compute)(*tensors)
    model = written(compute, tensors, target)
    assert any(node.domain == DOMAIN for node in model.graph.node) is ours
    expand_operators(model, target)
    onnx.checker.check_model(model)
    for got, want in zip(run(model, tensors), expected, strict=True):
        assert got.dtype == want.numpy().dtype
        np.testing.assert_allclose(got, want.numpy(), atol=atol, rtol=1e-5)
    return model


def run(model: onnx.ModelProto, tensors: Sequence[Tensor]) -> list[Any]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {value.name: x.numpy() for value, x in zip(session.get_inputs(), tensors, strict=True)}
    return list(session.run(None, feed))
