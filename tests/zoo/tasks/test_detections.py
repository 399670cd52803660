"""Detections are compared as sets; only the model's own thresholds excuse a difference."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parity.gates import GRAPH
from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks import build_task
from zoo.tasks.detection import Detection, DetectionResult
from zoo.tasks.detection.proof.matching import compare_detections
from zoo.tasks.proof import proof_of

RULE = DecisionRule(score=0.05, nms_iou=0.5, slots=100)
BOX = (10.0, 10.0, 50.0, 50.0)
FAR = (100.0, 100.0, 140.0, 130.0)


def found(*entries: tuple[Sequence[float], float, int]) -> DetectionResult:
    boxes = np.array([box for box, _, _ in entries], np.float32).reshape(-1, 4)
    return DetectionResult(
        boxes, np.array([score for _, score, _ in entries], np.float32), np.array([e[2] for e in entries], np.int64)
    )


def shifted(pixels: float) -> tuple[float, ...]:
    return (BOX[0] + pixels, *BOX[1:])


def test_order_says_nothing() -> None:
    first = found((BOX, 0.9, 1), (FAR, 0.9, 1), (FAR, 0.4, 2))
    second = found((FAR, 0.4, 2), (FAR, 0.9, 1), (BOX, 0.9, 1))
    result = compare_detections(first, second, GRAPH, RULE)
    assert (result.matched, result.borderline, result.failures) == (3, (), ())
    assert [figure.max_error for figure in result.figures] == [0, 0]


@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_any_set_matches_itself_in_any_order_with_rounding_errors(chance: object, count: int) -> None:
    random = np.random.default_rng(chance.getrandbits(32))  # type: ignore[attr-defined]
    corners = random.uniform(0, 200, (count, 2))
    boxes = np.hstack((corners, corners + random.uniform(4, 80, (count, 2)))).astype(np.float32)
    scores, labels = random.uniform(0.06, 1, count).astype(np.float32), random.integers(1, 4, count)
    order = random.permutation(count)
    noisy = (boxes + random.uniform(-0.02, 0.02, boxes.shape)).astype(np.float32)
    result = compare_detections(
        DetectionResult(boxes, scores, labels),
        DetectionResult(noisy[order], scores[order] + np.float32(1e-4), labels[order]),
        GRAPH,
        RULE,
    )
    assert (result.matched, result.failures) == (count, ())


def test_twins_of_one_place_are_paired_by_score() -> None:
    first = found((BOX, 0.9, 1), (shifted(0.01), 0.3, 1))
    second = found((shifted(0.01), 0.3, 1), (BOX, 0.9, 1))
    assert compare_detections(first, second, GRAPH, RULE).matched == 2


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (found((shifted(0.2), 0.9, 1)), "is 0.2 px and 0 of score away"),
        (found((BOX, 0.899, 1)), "is 0 px and 0.001 of score away"),
        (found((BOX, 0.9, 2)), "the backend misses label 1, score 0.9000"),
        (found(), "the backend misses label 1, score 0.9000, box [10.0, 10.0, 50.0, 50.0]"),
        (found((BOX, 0.9, 1), (FAR, 0.3, 4)), "PyTorch does not have label 4, score 0.3000"),
        (found((BOX, 0.9, 1), (BOX, 0.9, 1)), "PyTorch does not have label 1"),
        (found(((np.nan, 10, 50, 50), 0.9, 1)), "NaN or infinity in the detections of the backend"),
        (found((BOX, np.inf, 1)), "NaN or infinity"),
    ],
)
def test_a_difference_is_a_failure_that_says_which(candidate: DetectionResult, words: str) -> None:
    result = compare_detections(found((BOX, 0.9, 1)), candidate, GRAPH, RULE)
    assert any(words in failure for failure in result.failures), result.failures
    assert result.borderline == ()


def test_not_a_number_in_the_reference_is_no_pass_either() -> None:
    bad = found(((np.nan, 10, 50, 50), 0.9, 1))
    assert compare_detections(bad, bad, GRAPH, RULE).failures == ("NaN or infinity in the detections of PyTorch",)


def test_the_figures_show_an_error_beyond_the_gate() -> None:
    boxes = compare_detections(found((BOX, 0.9, 1)), found((shifted(0.2), 0.9, 1)), GRAPH, RULE).figures[0]
    assert boxes.max_error == pytest.approx(0.2, rel=1e-3)
    assert not boxes.passed


def test_many_failures_are_cut_short() -> None:
    many = found(*(((i * 50, 0, i * 50 + 20, 20), 0.9, 1) for i in range(30)))
    failures = compare_detections(many, found(), GRAPH, RULE).failures
    assert len(failures) == 11
    assert failures[-1] == "and 20 more"


class TestBorderline:
    def test_a_score_at_the_threshold_may_come_or_go(self) -> None:
        for score, excused in ((0.0503, True), (0.0506, False)):
            one, none = found((BOX, score, 1)), found()
            for pair in ((one, none), (none, one)):
                result = compare_detections(*pair, GRAPH, RULE)
                assert bool(result.borderline) is excused
                assert bool(result.failures) is not excused
        assert "within 0.0005 of the score threshold 0.05" in result_reason(found((BOX, 0.0503, 1)), found())

    def test_a_score_far_below_the_threshold_was_not_compared_with_it(self) -> None:
        one, none = found((BOX, 0.9, 1), (FAR, 0.001, 1)), found((BOX, 0.9, 1))
        (failure,) = compare_detections(none, one, GRAPH, RULE).failures
        assert failure.startswith("PyTorch does not have label 1, score 0.0010")

    def test_of_weighted_scores_few_below_the_threshold_are_excused(self) -> None:
        rule = replace(RULE, weighted=True)
        many = [((i * 50, 0, i * 50 + 20, 20), 0.01, 1) for i in range(3)]
        assert "was weighted behind the score threshold 0.05" in (
            compare_detections(found((BOX, 0.9, 1)), found((BOX, 0.9, 1), *many[:2]), GRAPH, rule).borderline[0].reason
        )
        assert len(compare_detections(found((BOX, 0.9, 1)), found((BOX, 0.9, 1), *many), GRAPH, rule).failures) == 3

    def test_without_a_threshold_nothing_is_excused(self) -> None:
        assert compare_detections(found((BOX, 0.0503, 1)), found(), GRAPH, DecisionRule()).failures

    def test_the_last_slot_may_go_to_another(self) -> None:
        rule = DecisionRule(score=0.05, nms_iou=0.5, slots=2)
        first, second = found((BOX, 0.9, 1), (FAR, 0.3, 1)), found((BOX, 0.9, 1), (FAR, 0.3001, 2))
        result = compare_detections(first, second, GRAPH, rule)
        assert result.failures == ()
        assert "K-th score 0.300100 (K = 2)" in result.borderline[0].reason

    def test_a_free_slot_excuses_nothing(self) -> None:
        rule = DecisionRule(score=0.05, nms_iou=0.5, slots=2)
        dropped = compare_detections(found((BOX, 0.9, 1), (FAR, 0.3, 1)), found((BOX, 0.9, 1)), GRAPH, rule)
        assert dropped.failures  # an engine that always loses the last slot is wrong, not borderline

    def test_a_better_detection_in_a_full_set_is_no_matter_of_slots(self) -> None:
        rule = DecisionRule(score=0.05, nms_iou=0.5, slots=2)
        other = found((FAR, 0.95, 3), (BOX, 0.9, 1))
        result = compare_detections(found((BOX, 0.9, 1), (FAR, 0.3, 1)), other, GRAPH, rule)
        assert any("PyTorch does not have label 3" in failure for failure in result.failures)

    def test_an_overlap_at_the_nms_threshold(self) -> None:
        # two boxes of 40 x 40, one moved by x: IoU = (40 - x) / (40 + x), which is 0.5 at x = 40 / 3
        for offset, excused in ((40 / 3, True), (40 / 3 + 0.05, False)):
            both = found((BOX, 0.9, 1), ((10 + offset, 10, 50 + offset, 50), 0.8, 1))
            result = compare_detections(both, found((BOX, 0.9, 1)), GRAPH, RULE)
            assert bool(result.borderline) is excused, offset
        assert "of the NMS threshold 0.5" in result_reason(
            found((BOX, 0.9, 1), ((10 + 40 / 3, 10, 50 + 40 / 3, 50), 0.8, 1)), found((BOX, 0.9, 1))
        )

    def test_an_overlap_with_another_class_or_a_worse_one_excuses_nothing(self) -> None:
        moved = (10 + 40 / 3, 10, 50 + 40 / 3, 50)
        for label, score in ((2, 0.9), (1, 0.7)):
            both = found((BOX, score, label), (moved, 0.8, 1))
            assert compare_detections(both, found((BOX, score, label)), GRAPH, RULE).failures

    def test_what_a_borderline_detection_suppresses_is_borderline(self) -> None:
        middle = ((10 + 40 / 3, 10, 50 + 40 / 3, 50), 0.8, 1)  # at the threshold with the first
        under = ((10 + 40 / 3 + 5, 10, 50 + 40 / 3 + 5, 50), 0.7, 1)  # suppressed by the middle one where that is kept
        result = compare_detections(found((BOX, 0.9, 1), middle), found((BOX, 0.9, 1), under), GRAPH, RULE)
        assert result.failures == ()
        assert len(result.borderline) == 2
        assert "with a borderline one of PyTorch" in result.borderline[1].reason


def result_reason(first: DetectionResult, second: DetectionResult) -> str:
    return compare_detections(first, second, GRAPH, RULE).borderline[0].reason


def slots(*scores: float) -> dict[str, np.ndarray]:
    count = len(scores)
    return {
        "num_dets": np.array([count]),
        "boxes": np.array([[(i * 50, 0, i * 50 + 20, 20) for i in range(count)]], np.float32),
        "scores": np.array([scores], np.float32),
        "labels": np.ones((1, count), np.int64),
    }


def test_the_best_come_first_where_pytorchs_do() -> None:
    classes = [{"name": name, "category_id": None} for name in "ab"]
    proof = proof_of(build_task({"type": "Detection", "classes": classes}))
    turned = {name: array[:, ::-1] if array.ndim > 1 else array for name, array in slots(0.9, 0.5).items()}
    (failure,) = proof.compare_outputs("final", slots(0.9, 0.5), turned, GRAPH, RULE).failures
    assert failure == "image 0: a score is 0.4 above the one before it, and PyTorch's best come first"
    assert not proof.compare_outputs("final", turned, slots(0.9, 0.5), GRAPH, RULE).failures
    assert not proof.compare_outputs("final", turned, turned, GRAPH, RULE).failures


def test_nothing_on_both_sides_is_blank() -> None:
    assert compare_detections(found(), found(), GRAPH, RULE).blank
    assert not compare_detections(found((BOX, 0.9, 1)), found(), GRAPH, RULE).blank


def test_files_are_json_where_a_score_is_not_finite() -> None:
    """NaN is a word that Python writes, and no other reader of JSON takes."""
    task = Detection([{"name": "a"}])
    result = DetectionResult(np.float32([[0, 0, np.inf, 1]]), np.float32([np.nan]), np.int64([0]))
    ((_, content),) = task.files(np.zeros((4, 4, 3), np.uint8), result)
    assert json.loads(content) == [{"class": "a", "box": [0, 0, None, 1], "score": None, "label": 0}]


def test_what_is_not_finite_is_not_drawn() -> None:
    image, task = np.zeros((160, 160, 3), np.uint8), Detection([{"name": "x", "category_id": 1}])
    good = found((BOX, 0.9, 0))
    spoiled = found((BOX, 0.9, 0), ((np.nan, *BOX[1:]), 0.8, 0), ((*BOX[:3], np.inf), 0.7, 0))
    np.testing.assert_array_equal(task.draw(image, spoiled), task.draw(image, good))
