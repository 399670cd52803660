"""Instances with masks of the whole image: results, the rule of queries, and what rounding may decide."""

import io
import re
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from pipeline.parity.gates import merged_gates
from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import InputError
from zoo.families import contract_module
from zoo.input_kinds.image.reference_input import reference_input
from zoo.preprocess import Geometry
from zoo.tasks import build_task
from zoo.tasks.instance_masks import InstanceMasksResult
from zoo.tasks.instance_masks.proof.comparing import compare_instances
from zoo.tasks.instance_masks.proof.instances import instances
from zoo.tasks.instance_masks.proof.queries import Queries, queries_of
from zoo.tasks.proof import EagerResult, Rounding, proof_of

CLASSES = 3
TASK = build_task(
    {"type": "InstanceMasks", "classes": [{"name": str(i), "category_id": i + 1} for i in range(CLASSES)]}
)
GATES = merged_gates({}, own=TASK.own_gates)
NEAR = 1e-3


def result(masks: Any, geometry: Geometry | None = None, score: float = 0.9) -> InstanceMasksResult:
    count = len(masks)
    made = InstanceMasksResult(np.zeros((count, 4)), np.full(count, score), np.ones(count), masks)
    return made.of_task(TASK, geometry)


def test_masks_of_the_image_are_those_of_the_tensors_nearest_pixels() -> None:
    masks = np.random.default_rng(0).integers(0, 2, (2, 16, 24)) > 0
    geometry = Geometry((100, 90), (60, 54), (64, 96))  # image, resized, padded
    found = result(masks, geometry).image_masks(100, 90)
    for mask, expected in zip(found, masks, strict=True):
        in_tensor = np.kron(expected, np.ones((4, 4), np.uint8))[:60, :54]
        shown = cv2.resize(in_tensor, (90, 100), interpolation=cv2.INTER_NEAREST_EXACT)
        np.testing.assert_array_equal(mask, shown != 0)
    with pytest.raises(InputError, match=r"masks of an image \(100, 90\): got \(90, 100\)"):
        result(masks, geometry).image_masks(90, 100)


def test_masks_by_hand_are_of_the_whole_image() -> None:
    masks = np.zeros((1, 2, 2), np.bool_)
    masks[0, 0, 1] = True
    expected = np.zeros((4, 6), np.bool_)
    expected[:2, 3:] = True
    np.testing.assert_array_equal(result(masks).image_masks(4, 6)[0], expected)
    assert result(masks[:0]).image_masks(4, 6).shape == (0, 4, 6)


@pytest.mark.parametrize("count", [0, 3])
def test_the_file_of_masks_is_written_one_mask_after_another(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = result(np.random.default_rng(0).integers(0, 2, (count, 8, 12)) > 0)
    expected, at_once = made.image_masks(16, 24), []
    image_masks = InstanceMasksResult.image_masks

    def spy(part: InstanceMasksResult, height: int, width: int) -> Any:
        at_once.append(len(part))
        return image_masks(part, height, width)

    monkeypatch.setattr(InstanceMasksResult, "image_masks", spy)
    content = dict(TASK.files(np.zeros((16, 24, 3), np.uint8), made))[".npz"]
    with np.load(io.BytesIO(content)) as arrays:
        np.testing.assert_array_equal(arrays["masks"], expected)
        assert arrays["masks"].dtype == np.bool_
    assert at_once == [1] * count


def test_boxes_are_those_of_the_masks() -> None:
    masks = np.zeros((1, 3, 8, 8), np.uint8)
    masks[0, 0, 2:4, 1:7] = 1
    masks[0, 1, 0, 0] = 1
    outputs = {
        "num_dets": np.array([2]),
        "scores": np.array([[0.9, 0.5, 0.0]], np.float32),
        "labels": np.array([[2, 0, -1]]),
        "masks": masks,
    }
    (found,) = TASK.results(outputs, [Geometry((64, 64), (32, 32), (32, 32))])
    assert isinstance(found, InstanceMasksResult)
    np.testing.assert_array_equal(found.boxes, [[8, 16, 56, 32], [0, 0, 8, 8]])
    (rows,) = (found.rows(),)
    assert [row["class"] for row in rows] == ["2", "0"]
    assert found.to_coco(7)[0]["category_id"] == 3
    assert found.to_coco(7)[0]["segmentation"]["size"] == [64, 64]
    outputs["masks"][:] = 0
    assert found.masks[0].sum() == 12, "results own their arrays"


def logits(seed: int = 0, queries: int = 6, size: tuple[int, int] = (8, 12)) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "class_logits": torch.randn(2, queries, CLASSES + 1, generator=generator) * 2,
        "mask_logits": torch.randn(2, queries, *size, generator=generator) * 4,
    }


def best(output: dict[str, torch.Tensor]) -> int:
    """The query of the first image with the largest probability of a class."""
    return int(output["class_logits"][0].softmax(dim=-1)[:, :-1].argmax()) // CLASSES


def test_the_best_pairs_of_a_query_and_a_class_are_instances() -> None:
    """By loops over images and pairs."""
    output = logits()
    output["mask_logits"][0, best(output)] = -1  # an empty mask
    counts, scores, labels, masks = instances(**output)
    for image in range(2):
        probabilities = output["class_logits"][image].softmax(dim=-1)
        pairs = [(float(probabilities[q, c]), q, c) for q in range(6) for c in range(CLASSES)]
        expected = []
        for probability, query, label in sorted(pairs, reverse=True)[:6]:
            logit = output["mask_logits"][image, query]
            if (logit > 0).any():
                expected.append((probability * float(logit[logit > 0].sigmoid().mean()), label, logit > 0))
        expected.sort(key=lambda each: -each[0])
        count = int(counts[image])
        assert count == len(expected)
        assert scores[image, :count].tolist() == pytest.approx([each[0] for each in expected], abs=1e-6)
        assert labels[image, :count].tolist() == [each[1] for each in expected]
        assert torch.equal(masks[image, :count], torch.stack([each[2] for each in expected]))
        assert not scores[image, count:].any()
        assert (labels[image, count:] == -1).all()
        assert not masks[image, count:].any()
    assert counts.min() < 6


def sides(changes: Any = None) -> tuple[Queries, InstanceMasksResult]:
    """PyTorch's queries of one image, and what a backend makes of them after `changes` to its own logits."""
    ours, theirs = logits(), logits()
    if changes is not None:
        changes(ours, theirs)
    counts, scores, labels, masks = instances(**theirs)
    count = int(counts[0])
    found = InstanceMasksResult(np.zeros((count, 4)), scores[0, :count], labels[0, :count], masks[0, :count])
    return queries_of(ours)[0], found


def compared(changes: Any = None) -> Findings:
    return compare_instances(*sides(changes), GATES["graph"], near=NEAR)


def test_the_same_instances_match() -> None:
    findings = compared()
    assert (findings.matched, findings.failures, findings.borderline) == (6, (), ())
    assert [figure.max_error for figure in findings.figures] == pytest.approx([0, 0], abs=1e-6)


def test_a_pixel_at_the_threshold_may_be_on_either_side() -> None:
    def cross(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
        for query in range(6):
            ours["mask_logits"][0, query, 0, 0], theirs["mask_logits"][0, query, 0, 0] = NEAR / 2, -NEAR / 2

    findings = compared(cross)
    assert not findings.failures
    assert findings.matched == 6
    assert [each.what for each in findings.borderline] == ["6 pixels of 6 masks differ"]


def test_a_small_mask_keeps_its_score_though_its_pixels_change() -> None:
    """A pixel more or less changes the mean of three by far more than the gate."""

    def shrink(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
        for side in (ours, theirs):
            side["mask_logits"][0, :] = -3
            side["mask_logits"][0, :, 0, :3] = torch.tensor([4.0, 4.0, NEAR / 2])
        theirs["mask_logits"][0, :, 0, 2] = -NEAR / 2

    queries, found = sides(shrink)
    assert abs(float(found.scores[0] / queries.probabilities.max()) - 0.98) < 0.01
    assert not compare_instances(queries, found, GATES["graph"], near=NEAR).failures


def test_another_pixel_is_refused() -> None:
    def clear(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
        ours["mask_logits"][0, :, 0, 0], theirs["mask_logits"][0, :, 0, 0] = 10 * NEAR, -10 * NEAR

    findings = compared(clear)
    assert findings.differences == 6
    assert all("of the pixels away" in failure for failure in findings.failures)


def test_a_query_at_the_last_place_may_be_there_or_not() -> None:
    def tie(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
        for side, first, second in ((ours, 0.0, 1e-5), (theirs, 1e-5, 0.0)):
            side["class_logits"][0] = torch.tensor([6.0, -9.0, -9.0, 0.0])
            side["class_logits"][0, 0] = torch.tensor([6.0, 2.0 + first, -9.0, -9.0])
            side["class_logits"][0, 1] = torch.tensor([6.0, 2.0 + second, -9.0, -9.0])
            side["class_logits"][0, 5] = torch.tensor([-9.0, -9.0, -9.0, 9.0])  # no object

    findings = compared(tie)
    assert not findings.failures
    assert findings.matched == 6
    assert [each.what.split(" has ")[0] for each in findings.borderline] == ["only PyTorch", "only the backend"]
    assert "of the K-th probability" in findings.borderline[0].reason


def test_another_query_is_refused() -> None:
    def replace(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
        theirs["class_logits"][0, 0] = ours["class_logits"][0, 1]
        theirs["class_logits"][0, 1] = ours["class_logits"][0, 0]

    assert compared(replace).failures


def test_an_instance_all_of_whose_pixels_are_at_the_threshold_may_be_left_out() -> None:
    def fade(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
        ours["mask_logits"][0, best(ours)], theirs["mask_logits"][0, best(ours)] = NEAR / 2, -NEAR / 2

    queries, found = sides(fade)
    assert len(found) < 6
    findings = compare_instances(queries, found, GATES["graph"], near=NEAR)
    assert not findings.failures
    assert all(each.what.startswith("only PyTorch has label") for each in findings.borderline)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scores": np.array([0.4])}, "is 0.* of score and 0 of the pixels away"),
        ({"labels": np.array([2])}, "PyTorch does not have label 2"),
        ({"scores": np.array([np.nan])}, "NaN or infinity in the scores of the backend"),
        ({"masks": np.zeros((1, 4, 4), np.bool_)}, r"masks: the backend gives \[4, 4\], PyTorch \[2, 2\]"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], words: str) -> None:
    masks = np.array([[[5.0, -5.0], [5.0, -5.0]]], np.float32)
    queries = Queries(np.array([[0.1, 0.7, 0.1]], np.float32), masks)
    arrays = {
        "boxes": np.zeros((1, 4)),
        "scores": np.array([0.7 / (1 + np.exp(-5))]),
        "labels": np.array([1]),
        "masks": masks > 0,
    }
    good = compare_instances(queries, InstanceMasksResult(**arrays), GATES["graph"], near=NEAR)
    assert (good.matched, good.failures) == (1, ())
    bad = compare_instances(queries, InstanceMasksResult(**arrays | changes), GATES["graph"], near=NEAR)
    assert any(re.search(words, failure) for failure in bad.failures), bad.failures


class OfLogits(torch.nn.Module):
    """Gives the same queries for every image."""

    def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:
        return {name: tensor[: len(images)] for name, tensor in logits().items()}


@pytest.mark.parametrize("kind", ["graph", "pipeline"])
def test_a_result_is_compared_with_the_unpatched_models_own(kind: str) -> None:
    """By the gates of the graph for one and the same tensor, and by those of the pipeline."""
    placed = reference_input(np.zeros((50, 90, 3), np.uint8), {"size": (64, 96), "resize": "letterbox"})
    proof, model = proof_of(TASK), OfLogits()
    result, queries = proof.eager_result(model, {}, placed.tensor[0], placed)
    expected = EagerResult(placed.tensor[0].numpy(), result, queries)
    tensors = contract_module(model, TASK, "final", {})(placed.tensor)
    names = [spec.name for spec in TASK.outputs("final")]
    outputs = {name: tensor.numpy() for name, tensor in zip(names, tensors, strict=True)}
    geometry = Geometry((50, 90), placed.resized, (64, 96))
    (theirs,) = TASK.results(outputs, [geometry])
    assert isinstance(theirs, InstanceMasksResult)
    np.testing.assert_allclose(theirs.boxes, result.boxes, atol=1e-3)
    np.testing.assert_array_equal(theirs.image_masks(50, 90), result.image_masks(50, 90))
    rounding = Rounding((result,), 0.1) if kind == "pipeline" else None
    good = proof.compare(expected, placed, theirs, GATES[kind], DecisionRule(), rounding)
    assert (good.matched, good.failures) == (6, ())
    way_back = proof.way_back(geometry, placed, GATES["pipeline"])
    assert way_back is not None
    assert not way_back.failures
    wrong = proof.way_back(Geometry((50, 90), placed.resized, (96, 64)), placed, GATES["pipeline"])
    assert wrong is not None
    assert wrong.failures
