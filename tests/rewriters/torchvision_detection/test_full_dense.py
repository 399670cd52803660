"""torchvision's complete dense detectors, calibrated random weights, judged by the project's own gates."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from tests.rewriters.small_dense_models import dense_contract
from tests.rewriters.small_models import CLASSES, detection_specs, export, fixed_target, run
from tests.small_tasks import small_task
from zoo.families import family_of
from zoo.random_weights import spread_detector
from zoo.registry import MODELS

pytestmark = pytest.mark.slow

HEIGHT, WIDTH = 128, 160
RESIZE = {"min_size": HEIGHT, "max_size": WIDTH}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "retinanet_resnet50_fpn": RESIZE,
    "retinanet_resnet50_fpn_v2": RESIZE,
    "fcos_resnet50_fpn": RESIZE,
    "ssd300_vgg16": {"score_thresh": 0.5},
    "ssdlite320_mobilenet_v3_large": {"score_thresh": 0.5},
}


def sample_images(count: int, seed: int) -> Tensor:
    """Smooth colours with noise: pure noise looks the same everywhere, and scores tie."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(count, 3, HEIGHT // 16, WIDTH // 16, generator=generator)
    smooth = nn.functional.interpolate(coarse, size=(HEIGHT, WIDTH), mode="bicubic", align_corners=False)
    return (0.8 * smooth + 0.2 * torch.rand(smooth.shape, generator=generator)).clamp(0, 1)


def full_detector(architecture: str) -> Any:
    torch.manual_seed(0)
    section = {"type": "TorchvisionDetector", "architecture": architecture, "num_classes": CLASSES}
    model: Any = MODELS.build({**section, **ARCHITECTURES[architecture]})
    spread_detector(model, list(sample_images(4, 3)))
    return model


@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_onnxruntime_equals_unpatched(architecture: str, exporter: str, tmp_path: Path) -> None:
    model = full_detector(architecture)
    module = dense_contract(model)
    slots = model.detections_per_img
    export(module, fixed_target(HEIGHT, WIDTH, exporter=exporter), tmp_path / "m.onnx", detection_specs(slots))
    names = [spec.name for spec in detection_specs(slots)]
    for count in (1, 2, 5):
        images = sample_images(count, 10 + count)
        with torch.no_grad():
            expected = dict(zip(names, [tensor.numpy() for tensor in module(images)], strict=True))
        assert expected["num_dets"].min() >= 5
        found: dict[str, np.ndarray] = dict(zip(names, run(tmp_path / "m.onnx", images), strict=True))
        findings = compare_outputs(
            small_task("detection"),
            "final",
            expected,
            found,
            merged_gates()["graph"],
            family_of(model).decision_rule(model),
        )
        assert not findings.failures
        assert len(findings.borderline) <= 0.02 * expected["num_dets"].sum()
