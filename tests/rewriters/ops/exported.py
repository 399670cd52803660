"""A module around one operator of ours, exported: by either exporter, in the form for either family of backends."""

import io
from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from torch import Tensor, nn

from rewriters.graph_passes.expand_operators import expand_operators
from rewriters.ops.dynamo_nodes import dynamo_nodes
from rewriters.ops.torchscript_nodes import torchscript_nodes
from tests.rewriters.small_models import fixed_target

FORMS = [
    pytest.param((exporter, backend), marks=pytest.mark.slow if exporter == "dynamo" else ())
    for exporter in ("torchscript", "dynamo")
    for backend in ("onnxruntime", "tensorrt-rtx")
]
NOT_FOR_TENSORRT = {"NonMaxSuppression", "NonZero", "RoiAlign", "Compress", "Scan", "DeformConv"}


def exported(
    module: nn.Module,
    example: tuple[Tensor, ...],
    axes: Mapping[str, Mapping[int, str]],
    outputs: list[str],
    form: tuple[str, str],
) -> onnx.ModelProto:
    """`axes`: the dynamic ones of each input, by name. `form`: exporter and backend."""
    exporter, backend = form
    names = {"input_names": list(axes), "output_names": outputs, "opset_version": 18}
    if exporter == "torchscript":
        stream = io.BytesIO()
        with torchscript_nodes():
            torch.onnx.export(
                module.eval(),
                example,
                stream,  # type: ignore[arg-type]  # a stream is documented for this exporter
                dynamo=False,
                dynamic_axes={name: dict(of) for name, of in axes.items()},
                **names,
            )
        model = onnx.load_model_from_string(stream.getvalue())
    else:
        dims = {axis: torch.export.Dim(axis) for of in axes.values() for axis in of.values()}
        program = torch.onnx.export(
            module.eval(),
            example,
            dynamo=True,
            dynamic_shapes=tuple({index: dims[axis] for index, axis in of.items()} for of in axes.values()),
            custom_translation_table=dynamo_nodes(),
            verbose=False,
            **names,
        )
        assert program is not None
        model = program.model_proto
    expand_operators(model, fixed_target(64, 64, backend=backend))
    onnx.checker.check_model(model, full_check=True)
    return model


def session_of(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4  # zooport::used_rows gives fewer rows than torch says, which is the point
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(session: ort.InferenceSession, *tensors: Tensor) -> list[np.ndarray]:
    """Its outputs, of tensors in the order of its inputs."""
    inputs = zip(session.get_inputs(), tensors, strict=True)
    outputs: list[np.ndarray] = session.run(None, {entry.name: tensor.numpy() for entry, tensor in inputs})
    return outputs


def operators(graph: onnx.GraphProto) -> list[str]:
    """The operators of the graph and its subgraphs, in order, with their domain where they have one."""
    found = []
    for node in graph.node:
        found.append(f"{node.domain}::{node.op_type}" if node.domain else node.op_type)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found.extend(operators(attribute.g))
    return found
