"""The scale as an input: one file for every scale, by both exporters, on odd sizes; and bicubic as torch has it."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from rewriters import export_onnx
from tests.examples import slow_but
from tests.exporters import DYNAMO_LATER
from zoo.families import contract_module
from zoo.models.restoration import AnyScaleSRCNN
from zoo.target import AxisRange, Target
from zoo.tasks.super_resolution import SuperResolution
from zoo.tensor_spec import TensorSpec

SIZES = ((33, 47), (101, 35), (32, 64))
SCALES = (1, 2, 3, 4, 5)
NAME = "zoo.models.restoration.any_scale_srcnn.scaled_size"


def model(channels: str) -> AnyScaleSRCNN:
    torch.manual_seed(0)
    return AnyScaleSRCNN(channels=channels, filters=(6, 4)).eval()


def exported(module: AnyScaleSRCNN, path: Path, exporter: str) -> onnxruntime.InferenceSession:
    side = AxisRange(32, 40, 1024)
    target = Target({"height": side, "width": side}, exporter=exporter)
    specs = (TensorSpec("image", "float32", ("batch", 3, "image_2", "image_3")),)
    example = {"images": torch.rand(2, 3, 40, 52), "scale": torch.tensor([3])}
    contract = contract_module(module, SuperResolution(), "final", {})
    record = export_onnx(contract, target, path, example=example, output_specs=specs, required_rewriters=[NAME])
    assert [str(spec) for spec in record.inputs] == ["images float32 [batch, 3, height, width]", "scale int64 [1]"]
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("channels", slow_but(["y", "rgb"], "rgb"))
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_one_file_is_the_model_at_every_scale(exporter: str, channels: str, tmp_path: Path) -> None:
    eager = model(channels)
    session = exported(eager, tmp_path / "m.onnx", exporter)
    for scale in SCALES:
        for size in SIZES:
            images = torch.rand(1, 3, *size, generator=torch.Generator().manual_seed(scale))
            with torch.no_grad():
                expected = eager(images, torch.tensor([scale])).clamp(0, 1).numpy()
            (found,) = session.run(None, {"images": images.numpy(), "scale": np.array([scale])})
            np.testing.assert_allclose(found, expected, atol=3e-5, rtol=0)


@pytest.mark.filterwarnings("ignore")  # torchscript's own word that it freezes the scale
def test_torchscript_freezes_the_scale_without_it(tmp_path: Path) -> None:
    """Where this fails, a newer torch can do without the rewriter."""
    path = tmp_path / "m.onnx"
    example = (torch.rand(1, 3, 40, 52), torch.tensor([3]))
    torch.onnx.export(model("y"), example, path, dynamo=False, opset_version=20, input_names=["images", "scale"])
    session = onnxruntime.InferenceSession(path)
    (found,) = session.run(None, {"images": example[0].numpy(), "scale": np.array([2])})
    assert found.shape == (1, 3, 120, 156)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dynamo_refuses_the_scale_without_it() -> None:
    """Its first way of tracing, at least. Where this fails, a newer torch can do without the rewriter."""
    example = (torch.rand(1, 3, 40, 52), torch.tensor([3]))
    with pytest.raises(GuardOnDataDependentSymNode):
        torch.export.export(model("y"), example, strict=False)


class Bicubic(torch.nn.Module):
    """F.interpolate alone."""

    def forward(self, images: Tensor) -> Tensor:
        return F.interpolate(images, scale_factor=3, mode="bicubic", align_corners=False)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("size", SIZES)
def test_cubic_resize_is_torchs_at_the_borders_too(exporter: str, size: tuple[int, int], tmp_path: Path) -> None:
    """In whole float64 all three agree; in float32 a place far to the right is rounded, by torch more than here."""
    path = tmp_path / "m.onnx"
    images = torch.rand(1, 2, *size, generator=torch.Generator().manual_seed(0))
    module = Bicubic().eval()
    torch.onnx.export(module, (images,), path, dynamo=exporter == "dynamo", opset_version=20, input_names=["images"])
    (node,) = (node for node in onnx.load(path).graph.node if node.op_type == "Resize")
    attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
    assert attributes["cubic_coeff_a"] == -0.75
    (found,) = onnxruntime.InferenceSession(path).run(None, {"images": images.numpy()})
    exact = module(images.double()).numpy()
    own = np.abs(module(images).numpy() - exact).max()
    assert np.abs(found - exact).max() <= own < 1e-5
