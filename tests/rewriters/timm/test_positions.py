"""A vision transformer that takes images of any size, traced at the size of its training."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tests.rewriters.small_models import export, fixed_target, run, without_rewriter
from tests.small_tasks import small_task
from zoo.families import contract_module
from zoo.registry import MODELS
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

pytest.importorskip("timm", reason="timm is not installed; make test-all installs it")
pytestmark = pytest.mark.libraries

OWN = 160
REWRITER = "timm.layers.helpers.is_exporting"


@pytest.fixture(scope="module")
def model() -> nn.Module:
    """timm's test_vit, with positions that count."""
    torch.manual_seed(0)
    settings = {"architecture": "test_vit", "num_classes": 3, "size_divisor": 16, "dynamic_img_size": True}
    vit: nn.Module = MODELS.build({"type": "TimmClassifier", **settings})
    nn.init.normal_(vit.get_parameter("pos_embed"))
    nn.init.normal_(vit.get_parameter("head.weight"))
    return vit.eval()


def export_logits(model: nn.Module, exporter: str, path: Path) -> list[str]:
    sides = dict.fromkeys(("height", "width"), AxisRange(64, OWN, 256))
    target = fixed_target(OWN, OWN, exporter=exporter, level="decoded").with_(**sides)
    contract = contract_module(model, small_task("image-classification"), "decoded", {})
    record = export(contract, target, path, [TensorSpec("logits", "float32", ("batch", 3))], other_sizes=False)
    return [fired.name for fired in record.rewriters]


@pytest.mark.parametrize("exporter", ["torchscript", pytest.param("dynamo", marks=pytest.mark.slow)])
def test_every_size(model: nn.Module, exporter: str, tmp_path: Path) -> None:
    fired = export_logits(model, exporter, tmp_path / "m.onnx")
    assert (REWRITER in fired) == (exporter == "torchscript")
    for size in ((OWN, OWN), (64, 96), (192, 160)):
        images = torch.rand(2, 3, *size)
        with torch.no_grad():
            expected = model(images).numpy()
        np.testing.assert_allclose(run(tmp_path / "m.onnx", images)[0], expected, atol=1e-4 * np.ptp(expected))


def test_needed_without_it_the_graph_takes_no_other_size(model: nn.Module, tmp_path: Path) -> None:
    import_module("rewriters.timm")  # which an export would import, too late
    with without_rewriter(REWRITER):
        export_logits(model, "torchscript", tmp_path / "m.onnx")
    with pytest.raises(Exception, match="Attempting to broadcast"):
        run(tmp_path / "m.onnx", torch.rand(2, 3, 64, 96))
