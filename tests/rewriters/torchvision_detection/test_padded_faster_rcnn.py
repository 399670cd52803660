"""torchvision's Faster R-CNN, padded, against the unpatched model: eagerly and in ONNX Runtime from both exporters."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parity.gates import GRAPH
from rewriters import ExportRecord, rewriting
from tests.examples import examples, slow_but
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_families import outputs, same_findings, sample_images
from tests.rewriters.small_models import (
    contract,
    detection_specs,
    export,
    fixed_target,
    run,
    small_faster_rcnn,
    without_rewriter,
)
from zoo.errors import ExportError

ANCHORS = "torchvision.AnchorGenerator.forward"  # for torchscript alone
REWRITERS = (
    "torchvision.GeneralizedRCNN.forward",
    "torchvision.GeneralizedRCNNTransform.forward",
    "torchvision.GeneralizedRCNNTransform.postprocess",
    "torchvision.RegionProposalNetwork.forward",
    "torchvision.MultiScaleRoIAlign.forward",
    "torchvision.RoIHeads.postprocess_detections",
)


@examples(2, 12)
@given(
    height=st.integers(40, 130),
    width=st.integers(40, 130),
    count=st.integers(1, 3),
    seed=st.integers(0, 50),
)
def test_padded_equals_unpatched_for_any_size(height: int, width: int, count: int, seed: int) -> None:
    """Sizes that need a resize, that need padding, and neither."""
    module = contract(small_faster_rcnn())
    images = sample_images(count, height, width, seed)
    expected = outputs(module, images)
    with rewriting(fixed_target(height, width), eager=True):
        padded = outputs(module, images)
    # the batch is resized as one tensor: the same arithmetic up to the last bit of float32
    same_findings("faster_rcnn", module.model, expected, [tensor.numpy() for tensor in padded])


@pytest.mark.parametrize("level", ["final", "decoded", "raw"])
def test_padded_equals_unpatched_to_the_bit_without_a_resize(level: str) -> None:
    module = contract(small_faster_rcnn(), level)
    images = sample_images(3, 64, 96)
    expected = outputs(module, images)
    with rewriting(fixed_target(64, 96), eager=True) as session:
        padded = outputs(module, images)
    for got, want in zip(padded, expected, strict=True):
        assert torch.equal(got, want)
    # the class axis and the scores are still there behind the level, so every rewriter acts at each of them
    assert set(session.hits) == set(REWRITERS)


def test_something_is_found_and_something_is_empty() -> None:
    """Else the comparisons of this file would compare nothing."""
    num_dets, *_ = outputs(contract(small_faster_rcnn()), sample_images(4, 64, 96))
    assert num_dets.max() >= 2
    assert num_dets.min() < 20


def test_empty_slots_hold_zeros_and_label_minus_one() -> None:
    module = contract(small_faster_rcnn())
    with rewriting(fixed_target(64, 96), eager=True):
        num_dets, boxes, scores, labels = outputs(module, sample_images(2, 64, 96))
    for image, count in enumerate(num_dets.tolist()):
        assert count < 20
        assert not boxes[image, count:].any()
        assert not scores[image, count:].any()
        assert (labels[image, count:] == -1).all()


def test_proposals_that_are_not_there_have_no_box_and_no_score() -> None:
    """An NMS behind level decoded would take an even share of the scores for a detection."""
    model, images = small_faster_rcnn(rpn_post_nms_top_n_test=500), sample_images(2, 64, 96)
    proposals, *_ = outputs(contract(model, "raw"), images)
    boxes, scores = outputs(contract(model, "decoded"), images)
    there = proposals.any(dim=-1)
    assert there.any()
    assert not there.all()
    assert not boxes[~there].any()
    assert not scores[~there].any()
    assert scores[there].any(dim=-1).all()


@pytest.fixture(scope="module", params=DYNAMO_LATER)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExportRecord]:
    path = tmp_path_factory.mktemp("faster_rcnn") / "model.onnx"
    target = fixed_target(64, 96, exporter=request.param)
    record = export(contract(small_faster_rcnn()), target, path, detection_specs(20), required_rewriters=REWRITERS)
    return path, record


@pytest.mark.parametrize("count", slow_but([1, 2, 5], 1, 5))
def test_onnxruntime_equals_unpatched_for_every_batch(exported: tuple[Path, ExportRecord], count: int) -> None:
    images = sample_images(count, 64, 96, seed=7)  # other images than the traced ones
    expected = outputs(contract(small_faster_rcnn()), images)
    num_dets, boxes, scores, labels = run(exported[0], images)
    np.testing.assert_array_equal(num_dets, expected[0].numpy())
    np.testing.assert_array_equal(labels, expected[3].numpy())
    np.testing.assert_allclose(boxes, expected[1].numpy(), atol=GRAPH["boxes"])
    np.testing.assert_allclose(scores, expected[2].numpy(), atol=GRAPH["scores"])


def test_the_record_names_every_rewriter_and_the_batch_axis(exported: tuple[Path, ExportRecord]) -> None:
    record = exported[1]
    fired = {fired.name for fired in record.rewriters}
    assert fired >= set(REWRITERS)
    assert (ANCHORS in fired) == (record.exporter == "torchscript")
    assert all(fired.reason for fired in record.rewriters)
    assert record.inputs[0].shape == ("batch", 3, 64, 96)
    assert record.outputs[1].shape == ("batch", 20, 4)
    assert record.seconds > 0
    assert record.peak_memory > 2**20


REFUSED = "dynamo exporter refused the model|gives a list with an entry for each image"

# Rule 6. Seen with torch 2.15 and torchvision 0.29: without the rewriter, dynamo refuses the model.
NEEDED_BY_DYNAMO = tuple(name for name in REWRITERS if not name.endswith("postprocess"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDED_BY_DYNAMO)
def test_without_it_dynamo_refuses_the_model(name: str, tmp_path: Path) -> None:
    with without_rewriter(name), pytest.raises(ExportError, match=REFUSED):
        export(contract(small_faster_rcnn()), fixed_target(64, 96), tmp_path / "m.onnx", detection_specs(20))


@pytest.mark.slow
def test_without_constant_anchors_torchscript_computes_them(tmp_path: Path) -> None:
    """Slower, not wrong: more nodes run for what is fixed. dynamo folds them by itself."""
    target = fixed_target(64, 96, exporter="torchscript")
    ours = export(contract(small_faster_rcnn()), target, tmp_path / "ours.onnx", detection_specs(20))
    with without_rewriter("torchvision.AnchorGenerator.forward"):
        without = export(contract(small_faster_rcnn()), target, tmp_path / "m.onnx", detection_specs(20))
    assert without.nodes > ours.nodes


def test_without_postprocess_a_resized_batch_cannot_be_scaled_back() -> None:
    """torchvision unbinds boxes [n, 4] on axis 1, which is that of the K slots here."""
    module = contract(small_faster_rcnn())
    name = "torchvision.GeneralizedRCNNTransform.postprocess"
    with (
        without_rewriter(name),
        rewriting(fixed_target(50, 70), eager=True),
        pytest.raises(ValueError, match="too many values to unpack"),
    ):
        outputs(module, sample_images(2, 50, 70))


def test_decoded_boxes_are_in_pixels_of_the_tensor_given() -> None:
    """As at level final, also where the detector resizes: every final box is one of the decoded ones."""
    model = small_faster_rcnn()
    images = sample_images(2, 50, 70)
    num_dets, boxes, _, labels = outputs(contract(model), images)
    decoded, _ = outputs(contract(model, "decoded"), images)
    assert num_dets.sum() >= 2
    for image, count in enumerate(num_dets.tolist()):
        for slot in range(count):
            candidates = decoded[image, :, int(labels[image, slot])]
            assert (candidates - boxes[image, slot]).abs().amax(dim=1).min() < 1e-3
