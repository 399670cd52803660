"""interpolate: ints for static targets, untouched sizes for dynamic ones."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import CLASSES, contract, export, fixed_target, run, small_segmentor, without_rewriter
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

NAME = "torch.nn.functional.interpolate"


def shape_nodes(path: Path) -> int:
    return sum(node.op_type == "Shape" for node in onnx.load(path).graph.node)


def test_static_sizes_are_constants_of_the_graph(tmp_path: Path) -> None:
    specs = [TensorSpec("logits", "float32", ("batch", CLASSES, 50, 70))]
    target = fixed_target(50, 70, exporter="torchscript")
    record = export(contract(small_segmentor("whole"), "decoded"), target, tmp_path / "ours.onnx", specs)
    assert NAME in {fired.name for fired in record.rewriters}
    with without_rewriter(NAME):  # rule 6, seen with torch 2.15
        export(contract(small_segmentor("whole"), "decoded"), target, tmp_path / "plain.onnx", specs)
    assert shape_nodes(tmp_path / "plain.onnx") > shape_nodes(tmp_path / "ours.onnx")


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_dynamic_sizes_stay_dynamic(exporter: str, tmp_path: Path) -> None:
    model = small_segmentor("whole")
    path = tmp_path / "model.onnx"
    target = fixed_target(64, 96, exporter=exporter).with_(height=AxisRange(32, 64, 200), width=AxisRange(32, 96, 200))
    export(
        contract(model, "decoded"),
        target,
        path,
        [TensorSpec("logits", "float32", ("batch", CLASSES, "height", "width"))],
    )
    for height, width in ((64, 96), (33, 47), (129, 200)):
        images = torch.rand(2, 3, height, width)
        with torch.no_grad():
            expected = model(images).numpy()
        np.testing.assert_allclose(run(path, images)[0], expected, atol=1e-5 * np.abs(expected).max())
