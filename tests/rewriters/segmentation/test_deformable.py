"""Deformable convolutions in the graph: the standard operator, and the message for a lower opset."""

from collections import Counter
from pathlib import Path

import onnx
import pytest

from rewriters.onnx_graph.opset import STANDARD
from tests.exporters import DYNAMO_LATER
from tests.rewriters.encoder_decoders import CLASSES, small_encoder_decoder
from tests.rewriters.small_models import contract, export, fixed_target
from zoo.errors import ExportError
from zoo.models.deformable_convolution import ModulatedDeformableConv2d
from zoo.tensor_spec import TensorSpec


def export_at(opset: int, exporter: str, path: Path) -> int:
    """How many deformable convolutions the model has. Its last map is 2x4, which torchscript pools if it knows so."""
    model, target = small_encoder_decoder("dcn"), fixed_target(64, 128, exporter=exporter, opset=opset)
    export(contract(model, "decoded"), target, path, [TensorSpec("logits", "float32", ("batch", CLASSES, 64, 128))])
    return sum(isinstance(module, ModulatedDeformableConv2d) for module in model.modules())


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("opset", [19, pytest.param(20, marks=pytest.mark.slow)])
def test_each_is_one_standard_node(exporter: str, opset: int, tmp_path: Path) -> None:
    count = export_at(opset, exporter, tmp_path / "m.onnx")
    nodes = onnx.load(tmp_path / "m.onnx").graph.node
    assert Counter(node.op_type for node in nodes)["DeformConv"] == count == 8
    assert {node.domain for node in nodes} <= set(STANDARD)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_a_lower_opset_is_refused_with_the_one_it_needs(exporter: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="deform_conv2d fails: ONNX has DeformConv since opset 19; give --opset 20$"):
        export_at(18, exporter, tmp_path / "m.onnx")
