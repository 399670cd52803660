"""torchvision's RetinaNet, FCOS and SSD, padded, against the unpatched models: eagerly and in ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision.models.detection import FCOS, RetinaNet
from torchvision.models.detection.ssd import SSD

from pipeline.parity.gates import GRAPH
from rewriters import ExportRecord, rewriting
from tests.examples import examples, slow_but
from tests.rewriters.small_dense_models import SLOTS, dense_contract, small_detector
from tests.rewriters.small_families import lowest_index_first, outputs, same_findings, sample_images
from tests.rewriters.small_models import detection_specs, export, fixed_target, run, without_rewriter
from zoo.errors import ExportError

FAMILIES = ("retina_net", "retina_net_v2", "fcos", "ssd")
ON_EVERY_COMMIT = slow_but(FAMILIES, "retina_net", "fcos", "ssd")  # the second RetinaNet is the first, with group norm
TRANSFORM = (
    "torchvision.GeneralizedRCNNTransform.forward",
    "torchvision.GeneralizedRCNNTransform.postprocess",
)


def rewriters_of(family: str) -> tuple[str, ...]:
    name = {"fcos": "FCOS", "ssd": "SSD"}.get(family, "RetinaNet")
    return (f"torchvision.{name}.forward", f"torchvision.{name}.postprocess_detections", *TRANSFORM)


def anchors_of(family: str) -> str:
    """For torchscript alone."""
    return f"torchvision.{'DefaultBoxGenerator' if family == 'ssd' else 'AnchorGenerator'}.forward"


@pytest.mark.parametrize("family", ON_EVERY_COMMIT)
@examples(2, 8)
@given(height=st.integers(40, 130), width=st.integers(40, 130), count=st.integers(1, 3), seed=st.integers(0, 50))
def test_padded_equals_unpatched_for_any_size(family: str, height: int, width: int, count: int, seed: int) -> None:
    """Sizes that need a resize, that need padding, and neither."""
    module = dense_contract(small_detector(family))
    images = sample_images(count, height, width, seed)
    with lowest_index_first():  # or two equal scores at the cut of the candidates may change places
        expected = outputs(module, images)
        with rewriting(fixed_target(height, width), eager=True):
            padded = outputs(module, images)
    # the batch is resized as one tensor: the same arithmetic up to the last bit of float32
    same_findings(family, module.model, expected, [tensor.numpy() for tensor in padded])


@pytest.mark.parametrize("family", ON_EVERY_COMMIT)
@pytest.mark.parametrize("level", ["final", "decoded", "raw"])
def test_padded_equals_unpatched_without_a_resize(family: str, level: str) -> None:
    module = dense_contract(small_detector(family), level)
    images = sample_images(3, 64, 96)
    expected = outputs(module, images)
    with rewriting(fixed_target(64, 96), eager=True) as session:
        padded = outputs(module, images)
    for got, want in zip(padded, expected, strict=True):
        torch.testing.assert_close(got, want, atol=1e-5, rtol=0)
    # candidates and thresholds are still there behind the level, so every rewriter acts at each of them
    assert set(session.hits) == set(rewriters_of(family))


@pytest.mark.parametrize("family", slow_but(FAMILIES, "ssd"))
class TestOfTheModels:
    """Else the comparisons of this file would compare nothing."""

    def test_something_is_found_and_something_is_empty(self, family: str) -> None:
        num_dets, *_, labels = outputs(dense_contract(small_detector(family)), sample_images(4, 64, 96))
        assert num_dets.min() >= 10
        assert num_dets.min() < SLOTS
        assert len(labels.unique()) >= 3

    def test_more_candidates_pass_the_threshold_than_a_level_keeps(self, family: str) -> None:
        model = small_detector(family)
        images = sample_images(2, 64, 96)
        _, scores = outputs(dense_contract(model, "decoded"), images)
        assert ((scores > model.score_thresh).flatten(1).sum(dim=1) > 2 * model.topk_candidates).all()
        freely = outputs(dense_contract(small_detector(family, topk_candidates=10_000)), images)
        assert not torch.equal(freely[2], outputs(dense_contract(model), images)[2])

    def test_nms_drops_something(self, family: str) -> None:
        images = sample_images(2, 64, 96)
        free = outputs(dense_contract(small_detector(family, nms_thresh=1.0, detections_per_img=400)), images)
        model = small_detector(family, detections_per_img=400)
        assert (outputs(dense_contract(model), images)[0] < free[0]).all()


@pytest.mark.parametrize("family", slow_but(FAMILIES, "ssd"))
def test_full_slots_and_the_best_of_them(family: str) -> None:
    module = dense_contract(small_detector(family, detections_per_img=7))
    images = sample_images(2, 64, 96)
    expected = outputs(module, images)
    with rewriting(fixed_target(64, 96), eager=True):
        padded = outputs(module, images)
    assert expected[0].tolist() == [7, 7]
    for got, want in zip(padded, expected, strict=True):
        torch.testing.assert_close(got, want, atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", slow_but(FAMILIES, "fcos"))
def test_a_threshold_that_nothing_passes_leaves_all_slots_empty(family: str) -> None:
    module = dense_contract(small_detector(family, score_thresh=1.1))
    with rewriting(fixed_target(64, 96), eager=True):
        num_dets, boxes, scores, labels = outputs(module, sample_images(2, 64, 96))
    assert num_dets.tolist() == [0, 0]
    assert not boxes.any()
    assert not scores.any()
    assert (labels == -1).all()


@pytest.mark.parametrize("family", slow_but(FAMILIES, "retina_net"))
def test_more_slots_than_candidates_are_padded(family: str) -> None:
    module = dense_contract(small_detector(family, detections_per_img=400, topk_candidates=5))
    images = sample_images(2, 64, 96)
    expected = outputs(module, images)
    with rewriting(fixed_target(64, 96), eager=True):
        padded = outputs(module, images)
    assert padded[1].shape == (2, 400, 4)
    for got, want in zip(padded, expected, strict=True):
        torch.testing.assert_close(got, want, atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", ON_EVERY_COMMIT)
def test_decoded_boxes_are_in_pixels_of_the_tensor_given(family: str) -> None:
    """As at level final, also where the detector resizes: every final box and score is one of the decoded ones."""
    model = small_detector(family)
    images = sample_images(2, 50, 70)
    num_dets, boxes, scores, labels = outputs(dense_contract(model), images)
    all_boxes, all_scores = outputs(dense_contract(model, "decoded"), images)
    for image, count in enumerate(num_dets.tolist()):
        for slot in range(count):
            distance = (all_boxes[image] - boxes[image, slot]).abs().amax(dim=1)
            distance = distance + (all_scores[image, :, labels[image, slot]] - scores[image, slot]).abs()
            assert distance.min() < 1e-3


EXPORTED = [
    pytest.param(
        (family, exporter),
        id=f"{family}-{exporter}",
        marks=pytest.mark.slow if exporter == "dynamo" else (),
    )
    for family in ("retina_net", "fcos", "ssd")
    for exporter in ("torchscript", "dynamo")
]


@pytest.fixture(scope="module", params=EXPORTED)
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, ExportRecord]:
    family, exporter = request.param
    path = tmp_path_factory.mktemp(family) / "model.onnx"
    module = dense_contract(small_detector(family))
    target = fixed_target(64, 96, exporter=exporter)
    record = export(module, target, path, detection_specs(SLOTS), required_rewriters=rewriters_of(family))
    return family, path, record


@pytest.mark.parametrize("count", slow_but([1, 2, 5], 1, 5))
def test_onnxruntime_equals_unpatched_for_every_batch(exported: tuple[str, Path, ExportRecord], count: int) -> None:
    family, path, _ = exported
    images = sample_images(count, 64, 96, seed=7)  # other images than the traced ones
    expected = outputs(dense_contract(small_detector(family)), images)
    num_dets, boxes, scores, labels = run(path, images)
    np.testing.assert_array_equal(num_dets, expected[0].numpy())
    np.testing.assert_array_equal(labels, expected[3].numpy())
    np.testing.assert_allclose(boxes, expected[1].numpy(), atol=GRAPH["boxes"])
    np.testing.assert_allclose(scores, expected[2].numpy(), atol=GRAPH["scores"])


def test_the_record_names_every_rewriter_and_the_batch_axis(exported: tuple[str, Path, ExportRecord]) -> None:
    family, path, record = exported
    fired = {fired.name for fired in record.rewriters}
    assert fired >= set(rewriters_of(family))
    assert (anchors_of(family) in fired) == (record.exporter == "torchscript")
    assert record.inputs[0].shape == ("batch", 3, 64, 96)
    assert record.outputs[1].shape == ("batch", SLOTS, 4)
    assert sum(node.op_type == "NonMaxSuppression" for node in onnx.load(path).graph.node) == 1


# Rule 6. Seen with torch 2.15 and torchvision 0.29. What these models share with Faster R-CNN is tested there.
@pytest.mark.slow
@pytest.mark.parametrize("family", ["retina_net", "fcos", "ssd"])
@pytest.mark.parametrize("which", [0, 1])
def test_without_it_dynamo_refuses_the_model(family: str, which: int, tmp_path: Path) -> None:
    name = rewriters_of(family)[which]
    module = dense_contract(small_detector(family))
    with without_rewriter(name), pytest.raises(ExportError, match="dynamo exporter refused the model"):
        export(module, fixed_target(64, 96), tmp_path / "m.onnx", detection_specs(SLOTS))


@pytest.mark.slow
def test_without_constant_default_boxes_torchscript_computes_them(tmp_path: Path) -> None:
    """Slower, not wrong: more nodes run for what is fixed. dynamo folds them by itself."""
    target = fixed_target(64, 96, exporter="torchscript")
    module = dense_contract(small_detector("ssd"))
    ours = export(module, target, tmp_path / "ours.onnx", detection_specs(SLOTS))
    with without_rewriter(anchors_of("ssd")):
        without = export(module, target, tmp_path / "m.onnx", detection_specs(SLOTS))
    assert without.nodes > ours.nodes


@pytest.mark.parametrize(
    ("kind", "family"), [(RetinaNet, "retina_net"), (FCOS, "fcos"), (SSD, "ssd")], ids=["retina_net", "fcos", "ssd"]
)
@pytest.mark.parametrize("method", ["forward", "postprocess_detections"])
def test_a_subclass_with_its_own_method_is_refused(kind: Any, family: str, method: str, tmp_path: Path) -> None:
    own = type("Own", (kind,), {method: getattr(kind, method)})
    model = small_detector(family)
    model.__class__ = own
    with pytest.raises(ExportError, match=f"Own overrides {kind.__name__}.{method}, which the rewriter"):
        export(dense_contract(model), fixed_target(64, 96), tmp_path / "m.onnx", detection_specs(SLOTS))
