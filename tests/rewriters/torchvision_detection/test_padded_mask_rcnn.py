"""torchvision's Mask R-CNN, padded, against the unpatched model: eagerly and in ONNX Runtime from both exporters."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torchvision.models.detection.roi_heads import paste_masks_in_image

from pipeline.parity.gates import GRAPH
from rewriters import rewriting
from tests.examples import examples
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_families import outputs, sample_images
from tests.rewriters.small_models import (
    contract,
    export,
    fixed_target,
    instance_specs,
    run,
    small_faster_rcnn,
    small_mask_rcnn,
    without_rewriter,
)
from zoo.errors import ExportError, InputError
from zoo.families import contract_module
from zoo.target import AxisRange
from zoo.tasks.contract import Contract
from zoo.tasks.instance_segmentation import InstanceSegmentation

SLOTS = 20
FORWARD = "torchvision.RoIHeads.forward"


def test_the_contracts_masks_are_those_that_torchvision_pastes() -> None:
    model = small_mask_rcnn()
    images = sample_images(2, 50, 70)  # of which the model resizes
    num_dets, boxes, _, _, masks = outputs(contract(model), images)
    with torch.no_grad():
        found = model(images)
    assert num_dets.min() >= 2
    for image, count in enumerate(num_dets.tolist()):
        pasted = paste_masks_in_image(masks[image, :count, None], boxes[image, :count], (50, 70))
        assert torch.equal(pasted, found[image]["masks"])
        assert not masks[image, count:].any()


@examples(2, 6)
@given(height=st.integers(40, 130), width=st.integers(40, 130), count=st.integers(1, 3), seed=st.integers(0, 50))
def test_padded_equals_unpatched_for_any_size(height: int, width: int, count: int, seed: int) -> None:
    module = contract(small_mask_rcnn())
    images = sample_images(count, height, width, seed)
    expected = outputs(module, images)
    with rewriting(fixed_target(height, width), eager=True) as session:
        padded = outputs(module, images)
    assert session.hits[FORWARD] == 1
    for place, tolerance in enumerate((0, 1e-3, 1e-5, 0, 1e-4)):
        torch.testing.assert_close(padded[place], expected[place], atol=tolerance, rtol=0)


@pytest.mark.parametrize("level", ["decoded", "raw"])
def test_the_levels_before_the_masks_are_those_of_a_detector(level: str) -> None:
    module = contract(small_mask_rcnn(), level)
    images = sample_images(2)
    expected = outputs(module, images)
    with rewriting(fixed_target(64, 96), eager=True):
        padded = outputs(module, images)
    for got, want in zip(padded, expected, strict=True):
        assert torch.equal(got, want)


@pytest.fixture(scope="module", params=DYNAMO_LATER)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mask_rcnn") / "model.onnx"
    target = fixed_target(64, 96, exporter=request.param)
    export(contract(small_mask_rcnn()), target, path, instance_specs(SLOTS), required_rewriters=[FORWARD])
    return path


def check(path: Path, module: Contract, images: Tensor) -> list[np.ndarray]:
    expected = outputs(module, images)
    found = run(path, images)
    gates = (0, GRAPH["boxes"], GRAPH["scores"], 0, GRAPH["masks"])
    for got, want, tolerance in zip(found, expected, gates, strict=True):
        np.testing.assert_allclose(got, want.numpy(), atol=tolerance)
    return found


@pytest.mark.parametrize("count", [1, 5])
def test_onnxruntime_equals_unpatched_for_every_batch(exported: Path, count: int) -> None:
    num_dets, _, _, _, masks = check(exported, contract(small_mask_rcnn()), sample_images(count, seed=7))
    assert num_dets.min() > 0
    assert num_dets.max() < SLOTS
    assert masks.std() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_a_fixed_batch_with_many_few_and_no_detections(exporter: str, tmp_path: Path) -> None:
    """With a fixed batch torch knows the number of slots, and must not write it where there are fewer rows."""
    module = contract(small_mask_rcnn(box_score_thresh=0.65))
    target = fixed_target(64, 96, exporter=exporter).with_(batch=AxisRange.fixed(2))
    export(module, target, tmp_path / "m.onnx", instance_specs(SLOTS, batch=2))
    counts = [check(tmp_path / "m.onnx", module, sample_images(2, seed=seed))[0].tolist() for seed in (1, 5, 6)]
    assert counts == [[0, 0], [1, 3], [1, 0]]


def test_only_the_used_slots_go_through_the_mask_head(exported: Path, tmp_path: Path) -> None:
    """The rows of the head's last tensor, read from the graph itself."""
    model = onnx.load(exported)
    upsampling = next(node for node in model.graph.node if node.op_type == "ConvTranspose")
    model.graph.output.append(onnx.helper.make_tensor_value_info(upsampling.output[0], onnx.TensorProto.FLOAT, None))
    onnx.save(model, tmp_path / "more.onnx")
    num_dets, *_, upsampled = run(tmp_path / "more.onnx", sample_images(3, seed=7))
    assert len(upsampled) == num_dets.sum() < 3 * SLOTS
    assert upsampling.output[0] not in {value.name for value in model.graph.value_info}, "torch's own number of rows"


# Rule 6. Seen with torch 2.15 and torchvision 0.29.
def test_without_it_the_mask_branch_cannot_take_the_padded_batch() -> None:
    with (
        without_rewriter(FORWARD),
        rewriting(fixed_target(64, 96), eager=True),
        pytest.raises(ExportError, match="a list with an entry for each image, in a model whose batch is one tensor"),
    ):
        outputs(contract(small_mask_rcnn()), sample_images(2))


def test_a_detector_without_masks_does_not_need_it() -> None:
    with rewriting(fixed_target(64, 96), eager=True) as session:
        outputs(contract(small_faster_rcnn()), sample_images(2))
    assert not session.hits[FORWARD]


def test_a_model_without_masks_is_refused() -> None:
    task = InstanceSegmentation([{"name": "x", "category_id": None}])
    with pytest.raises(InputError, match="model FasterRCNN gives no masks, which instance-segmentation needs"):
        contract_module(small_faster_rcnn(), task, "final", {})
