"""MobileViT at dynamic sizes: the graph is right at sizes that are no multiples of the patch, and at those that are."""

from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from rewriters import ExportRecord, export_onnx
from tests.small_tasks import small_task
from zoo.errors import ExportError
from zoo.families import contract_module
from zoo.registry import MODELS
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

pytest.importorskip("timm", reason="timm is not installed; make test-all installs it")
pytestmark = pytest.mark.libraries

SIZES = [(64, 64), (96, 64), (75, 107), (64, 80)]  # of which the deepest maps are 2x2, 3x2, 3x4, 2x3


ONE_PATCH, PATCHES = (64, 64), (75, 107)  # at the deepest level
BLOCKS = [("mobilevit_xxs", "MobileVitBlock"), ("mobilevitv2_050", "MobileVitV2Block")]


@pytest.mark.parametrize(
    ("exporter", "traced"),
    [
        ("torchscript", ONE_PATCH),
        ("torchscript", PATCHES),
        pytest.param("dynamo", PATCHES, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("architecture", "block"), BLOCKS)
def test_every_size_is_right(
    traced: tuple[int, int], architecture: str, block: str, exporter: str, tmp_path: Path
) -> None:
    model = built(architecture)
    record = exported(model, exporter, traced, tmp_path / "m.onnx")
    assert f"timm.{block}.forward" in [fired.name for fired in record.rewriters]
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    for size in SIZES:
        images = torch.rand(1, 3, *size)
        [logits] = session.run(None, {"images": images.numpy()})
        torch.testing.assert_close(torch.from_numpy(logits), expected(model, images), atol=1e-5, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", [architecture for architecture, _ in BLOCKS])
def test_dynamo_keeps_a_size_of_one_patch_and_is_refused(architecture: str, tmp_path: Path) -> None:
    """A count of one is a constant for it."""
    with pytest.raises(ExportError, match="wrong at height 83 .height 64 was traced"):
        exported(built(architecture), "dynamo", ONE_PATCH, tmp_path / "m.onnx")


def built(architecture: str) -> nn.Module:
    torch.manual_seed(0)
    model: nn.Module = MODELS.build({"type": "TimmClassifier", "architecture": architecture, "num_classes": 3})
    return model.eval()


def exported(model: nn.Module, exporter: str, traced: tuple[int, int], path: Path) -> ExportRecord:
    contract = contract_module(model, small_task("image-classification"), "decoded", {})
    axes = {"batch": AxisRange(1, 2, 4), "height": AxisRange(64, 64, 128), "width": AxisRange(64, 64, 128)}
    target = Target(axes, exporter=exporter, level="decoded")
    specs = [TensorSpec("logits", "float32", ("batch", 3))]
    return export_onnx(contract, target, path, example={"images": torch.rand(2, 3, *traced)}, output_specs=specs)


def expected(model: nn.Module, images: Tensor) -> Tensor:
    """Of timm's own forward."""
    with torch.no_grad():
        logits: Tensor = model(images)
    return logits
