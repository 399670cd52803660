"""torchvision's detectors for tensorrt-rtx: the graph's numbers in ONNX Runtime, and an engine of it.

What an engine computes needs a GPU; that TensorRT takes the graph does not.
"""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from pipeline.parity.gates import GRAPH
from tests.rewriters.ops.exported import NOT_FOR_TENSORRT, operators
from tests.rewriters.small_dense_models import SLOTS, dense_contract, small_detector
from tests.rewriters.small_models import (
    contract,
    detection_specs,
    export,
    fixed_target,
    image_mask_specs,
    instance_specs,
    keypoint_specs,
    run,
    small_faster_rcnn,
    small_keypoint_rcnn,
    small_mask_rcnn,
)
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from zoo.errors import ExportError
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

RCNN_SLOTS = 20

FAMILIES: dict[str, tuple[Callable[[], Contract], list[TensorSpec]]] = {
    "faster_rcnn": (lambda: contract(small_faster_rcnn()), detection_specs(RCNN_SLOTS)),
    "mask_rcnn": (lambda: contract(small_mask_rcnn()), instance_specs(RCNN_SLOTS)),
    "image_masks": (
        lambda: contract(small_mask_rcnn(), image_masks=True),
        image_mask_specs(RCNN_SLOTS, height=64, width=96),
    ),
    "keypoint_rcnn": (lambda: contract(small_keypoint_rcnn()), keypoint_specs(RCNN_SLOTS)),
    "retina_net": (lambda: dense_contract(small_detector("retina_net")), detection_specs(SLOTS)),
    "fcos": (lambda: dense_contract(small_detector("fcos")), detection_specs(SLOTS)),
    "ssd": (lambda: dense_contract(small_detector("ssd")), detection_specs(SLOTS)),
    "ssdlite": (lambda: dense_contract(small_detector("ssd", lite=True)), detection_specs(SLOTS)),
}
# Operators that have a form of their own for TensorRT: RoIAlign and masks.
ON_EVERY_COMMIT = [(family, "torchscript") for family in ("image_masks",)]
FORMS = [
    pytest.param(
        (family, exporter),
        marks=[] if (family, exporter) in ON_EVERY_COMMIT else [pytest.mark.slow],
    )
    for family in FAMILIES
    for exporter in ("torchscript", "dynamo")
]


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    family, exporter = request.param
    path = tmp_path_factory.mktemp(family) / "model.onnx"
    module, specs = FAMILIES[family]
    export(module(), fixed_target(64, 96, exporter=exporter, backend="tensorrt-rtx"), path, specs)
    return family, path


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_the_same_graph_in_onnxruntime_equals_the_unpatched_model(exported: tuple[str, Path], count: int) -> None:
    family, path = exported
    module, specs = FAMILIES[family]
    images = torch.rand(count, 3, 64, 96, generator=torch.Generator().manual_seed(5))  # not the traced ones
    with torch.no_grad():
        expected = module()(images)
    assert expected[0].all()
    for spec, got, want in zip(specs, run(path, images), expected, strict=True):
        if spec.name == "keypoints":
            check_keypoints(got, want.numpy())
        else:
            np.testing.assert_allclose(got, want.numpy(), atol=GRAPH.get(spec.name, 0))


def check_keypoints(got: np.ndarray, want: np.ndarray) -> None:
    """The heatmaps' best values agree; so do their places, but where two pixels have nearly the same value."""
    np.testing.assert_allclose(got[..., 2], want[..., 2], atol=1e-3)
    assert (np.abs(got[..., :2] - want[..., :2]).max(axis=-1) < 0.05).mean() >= 0.98


def test_no_operator_has_a_size_that_depends_on_the_data(exported: tuple[str, Path]) -> None:
    used = set(operators(onnx.load(exported[1]).graph))
    assert not used & NOT_FOR_TENSORRT
    assert not [name for name in used if "::" in name]


@needs_rtx
@pytest.mark.tensorrt
def test_an_engine_is_built_for_every_batch(exported: tuple[str, Path]) -> None:
    rtx_engine(exported[1], 1, 2, 8)


@pytest.mark.parametrize("backend", ["tensorrt-rtx", pytest.param("onnxruntime", marks=pytest.mark.slow)])
def test_a_box_pooling_without_a_fixed_number_of_samples_is_refused(backend: str, tmp_path: Path) -> None:
    """By TensorRT alone."""
    model = small_faster_rcnn()
    model.roi_heads.box_roi_pool.sampling_ratio = 0
    target = fixed_target(64, 96, exporter="torchscript", backend=backend)
    refusal = (
        pytest.raises(ExportError, match="RoIAlign with sampling_ratio 0 takes more samples in larger boxes")
        if backend == "tensorrt-rtx"
        else nullcontext()
    )
    with refusal:
        export(contract(model), target, tmp_path / "m.onnx", detection_specs(RCNN_SLOTS))
