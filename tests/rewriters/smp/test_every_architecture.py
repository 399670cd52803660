"""segmentation_models_pytorch by both exporters: another batch, another size, OpenVINO, and an engine."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.rewriters.segmentor_graphs import (
    CLASSES,
    HEIGHT,
    WIDTH,
    assert_in_both,
    assert_logits,
    calibrated,
    export_logits,
    target_of,
)
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from zoo.registry import MODELS

smp = pytest.importorskip("segmentation_models_pytorch", reason="needs the extra smp")
pytestmark = pytest.mark.libraries

ARCHITECTURES = ("Unet", "UnetPlusPlus", "FPN", "PSPNet", "DeepLabV3Plus", "Segformer")
OTHERS = sorted({kind.__name__ for kind in smp.MODEL_ARCHITECTURES_MAPPING.values()} - {*ARCHITECTURES, "DPT"})
ADAPTIVE = "torch.nn.functional.adaptive_avg_pool2d"
CASES = ((1, (HEIGHT, WIDTH)), (3, (HEIGHT, WIDTH)), (2, (160, 128)), (1, (96, 256)))
LEAST_SIDE = {"PAN": 128}  # it halves the map of stride 16 three times
ON_EVERY_RUN = ("PSPNet", "DeepLabV3Plus")
CELLS = [
    pytest.param(architecture, exporter, marks=() if quick else pytest.mark.slow)
    for architecture in ARCHITECTURES
    for exporter in ("torchscript", "dynamo")
    for quick in [exporter == "torchscript" and architecture in ON_EVERY_RUN]
]


def build(architecture: str, encoder: str = "tu-test_resnet", **options: Any) -> Any:
    torch.manual_seed(0)
    section = {"type": "SmpSegmentor", "architecture": architecture, "encoder": encoder, "num_classes": CLASSES}
    return calibrated(MODELS.build({**section, **options}))


@pytest.mark.parametrize(("architecture", "exporter"), CELLS)
def test_one_file_at_every_batch_and_size(architecture: str, exporter: str, tmp_path: Path) -> None:
    model, path = build(architecture), tmp_path / "m.onnx"
    record = export_logits(model, target_of("dynamic", exporter), path, other_sizes=False)
    assert (ADAPTIVE in {fired.name for fired in record.rewriters}) == (architecture == "PSPNet")
    assert_in_both(model, path, CASES)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", OTHERS)
def test_the_others_of_its_registry(architecture: str, tmp_path: Path) -> None:
    model, path = build(architecture), tmp_path / "m.onnx"
    export_logits(model, target_of("dynamic", least=LEAST_SIDE.get(architecture, HEIGHT)), path)
    assert_logits(model, path, [(2, (128, 160)), (1, (160, 128))])


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["resnet18", "mit_b0", "efficientnet-b0"])
def test_encoders_of_the_library_at_odd_sizes(encoder: str, tmp_path: Path) -> None:
    """A Unet takes any size."""
    model, path = build("Unet", encoder), tmp_path / "m.onnx"
    export_logits(model, target_of("dynamic"), path)
    assert_logits(model, path, [(2, (67, 101)), (1, (99, 65))])


@pytest.mark.tensorrt
@needs_rtx
@pytest.mark.parametrize(("architecture", "exporter"), CELLS)
def test_tensorrt_rtx_takes_the_file(architecture: str, exporter: str, tmp_path: Path) -> None:
    model, path = build(architecture), tmp_path / "m.onnx"
    export_logits(model, target_of("fixed", exporter, "tensorrt-rtx"), path, other_sizes=False)
    assert rtx_engine(path, 1, 2, 3).layers
