"""Typed fp16 graphs for tensorrt-rtx, which takes them strongly typed: an engine for every batch, and right numbers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from rewriters.precision import PrecisionReport, to_fp16
from rewriters.precision.rounded import rounded
from tests.rewriters.small_dense_models import SLOTS, dense_contract, small_detector
from tests.rewriters.small_models import (
    contract,
    detection_specs,
    export,
    fixed_target,
    run,
    small_faster_rcnn,
    small_segmentor,
)
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from zoo.precision_options import PrecisionOptions
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

RCNN_SLOTS = 20

FAMILIES: dict[str, tuple[Callable[[], Contract], list[TensorSpec]]] = {
    "faster_rcnn": (lambda: contract(small_faster_rcnn()), detection_specs(RCNN_SLOTS)),
    "retina_net": (lambda: dense_contract(small_detector("retina_net")), detection_specs(SLOTS)),
    "segmentor": (
        lambda: contract(small_segmentor("whole")),
        [TensorSpec("label_map", "uint8", ("batch", 64, 96))],
    ),
}
pytestmark = pytest.mark.slow  # three exports
Made = tuple[str, Path, Path, PrecisionReport]


@pytest.fixture(scope="module", params=FAMILIES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The family, its fp32 and its fp16 file."""
    family, folder = request.param, tmp_path_factory.mktemp(request.param)
    module, specs = FAMILIES[family]
    target = fixed_target(64, 96, exporter="torchscript", backend="tensorrt-rtx")
    export(module(), target, folder / "fp32.onnx", specs)
    half, report = to_fp16(onnx.load(folder / "fp32.onnx"), PrecisionOptions(), [{"images": sample_images().numpy()}])
    onnx.checker.check_model(half, full_check=True)
    onnx.save(half, folder / "fp16.onnx")
    return family, folder / "fp32.onnx", folder / "fp16.onnx", report


def sample_images(count: int = 2) -> torch.Tensor:
    return torch.rand(count, 3, 64, 96, generator=torch.Generator().manual_seed(5))


def test_the_network_is_fp16_and_the_arithmetic_of_places_in_loops_is_not(made: Made) -> None:
    family, _, _, report = made
    loops = {"faster_rcnn", "retina_net"} & {family}  # NMS and the pooling in boxes multiply within Loops
    assert report.nodes["float16"] > 10
    assert bool(report.nodes.get("float32")) == bool(loops)


def test_findings_are_those_of_fp32(made: Made, tmp_path: Path) -> None:
    """With every fp16 result rounded: boxes within a pixel, but for those that rounded scores decide."""
    family, full, half, _ = made
    onnx.save(rounded(onnx.load(half)), tmp_path / "rounded.onnx")
    expected, found = run(full, sample_images(12)), run(tmp_path / "rounded.onnx", sample_images(12))
    if family == "segmentor":
        assert (expected[0] == found[0]).mean() > 0.99
        return
    matched = total = 0
    for boxes, labels, others, other_labels in zip(expected[1], expected[3], found[1], found[3], strict=True):
        for box, label in zip(boxes[labels >= 0], labels[labels >= 0], strict=True):
            near = np.abs(others - box).max(axis=1) < 1
            matched += bool((near & (other_labels == label)).any())
            total += 1
    assert total > 10
    assert matched >= 0.95 * total


@needs_rtx
@pytest.mark.tensorrt
def test_an_engine_is_built_for_every_batch(made: Made) -> None:
    rtx_engine(made[2], 1, 2, 8)
