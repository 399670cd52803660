"""Classification: the contract, results, drawing, and a comparison that knows ties from faults."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pipeline.parity.gates import merged_gates
from tests.small_tasks import small_task
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import InputError
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks.highlight import CANDIDATE, REFERENCE
from zoo.tasks.image_classification import ClassificationResult
from zoo.tasks.image_classification.proof.compared_scores import compare_scores
from zoo.tasks.proof import Compared, EagerResult, Rounding, proof_of

TASK = small_task("image-classification")
PROOF = proof_of(TASK)
GATES = merged_gates()
RULE = DecisionRule()
PLACED = ReferenceInput(torch.zeros(1, 3, 64, 64), (64, 64), (40, 40))
IMAGE = np.random.default_rng(0).integers(0, 256, (40, 50, 3)).astype(np.uint8)


def result(*scores: float) -> ClassificationResult:
    return ClassificationResult.of(np.array(scores, np.float32))


FOUND = result(0.1, 0.6, 0.2, 0.1)


def eager(found: ClassificationResult) -> EagerResult:
    return EagerResult(np.zeros((3, 64, 64), np.float32), found)


def test_the_contract_and_its_results() -> None:
    shown = [
        f"{spec.name} {spec.dtype} {list(spec.shape)}" for level in ("final", "decoded") for spec in TASK.outputs(level)
    ]
    assert shown == ["scores float32 ['N', 4]", "logits float32 ['N', 4]"]
    assert TASK.outputs("raw") == ()
    scores = np.array([[0.1, 0.6, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1]], np.float32)
    geometry = Geometry((40, 40), (64, 64), (64, 64))
    (one,) = TASK.results({"scores": scores}, [geometry])
    assert one == FOUND
    assert FOUND.labels.tolist() == [1, 2, 0, 3]  # equal scores: the lower id first
    assert FOUND.by_id().tolist() == scores[0].tolist()


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(InputError, match=r"classification: got labels \[2\], scores \[3\]; expected \[C\], \[C\]"):
        ClassificationResult(np.array([1, 0]), np.array([0.5, 0.3, 0.2]))


def test_drawing_enlarges_small_images_and_names_the_best() -> None:
    drawn = TASK.draw(IMAGE, FOUND)
    assert drawn.shape == (160, 200, 3)
    assert not np.array_equal(drawn, TASK.draw(IMAGE, result(0.6, 0.2, 0.1, 0.1)))
    assert TASK.caption(FOUND) == "class 1 0.60, class 2 0.20, class 0 0.10, class 3 0.10"
    with pytest.raises(InputError, match="image-classification cannot draw a"):
        TASK.draw(IMAGE, EagerResult)  # type: ignore[arg-type]


def test_files() -> None:
    ((ending, content),) = TASK.files(IMAGE, FOUND)
    best = json.loads(content)[0]
    assert (ending, best["class"], best["label"], round(best["score"], 6)) == (".json", "class 1", 1, 0.6)


@given(arrays.arrays(np.float32, (7,), elements=st.floats(0, 1, width=32)))
def test_equal_scores_are_the_same_whatever_their_ties(scores: np.ndarray) -> None:
    findings = compare_scores(scores, scores.copy(), 5e-4)
    assert (findings.failures, findings.borderline, findings.matched) == ((), (), 5)


def test_a_tie_within_the_rounding_is_borderline() -> None:
    ours, theirs = np.array([0.4999, 0.5001, 0.0]), np.array([0.5001, 0.4999, 0.0])
    findings = compare_scores(ours, theirs, 5e-4)
    assert findings.failures == ()
    assert [entry.what for entry in findings.borderline] == [
        "rank 1: PyTorch has class 1, the backend class 0",
        "rank 2: PyTorch has class 0, the backend class 1",
    ]


def test_another_order_and_another_score_are_failures() -> None:
    findings = compare_scores(np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.6, 0.1]), 5e-4)
    assert findings.failures == (
        "class 0: score 0.6000 is 0.3000, 0.3 away, gate 0.0005",
        "class 1: score 0.3000 is 0.6000, 0.3 away, gate 0.0005",
        "rank 1: PyTorch has class 0, the backend class 1; PyTorch's scores of the two are 0.3 apart",
        "rank 2: PyTorch has class 1, the backend class 0; PyTorch's scores of the two are 0.3 apart",
    )


def test_what_is_no_number_fails_and_no_preference_is_blank() -> None:
    assert compare_scores(np.array([0.5, 0.5]), np.array([0.5, np.nan]), 5e-4).faults
    assert compare_scores(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 5e-4).blank


def test_outputs_of_a_batch() -> None:
    scores = np.array([[0.1, 0.6, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1]], np.float32)
    swapped = {"scores": scores[::-1].copy()}
    assert PROOF.compare_outputs("final", {"scores": scores}, {"scores": scores}, GATES["graph"], RULE).failures == ()
    assert PROOF.compare_outputs("final", {"scores": scores}, swapped, GATES["graph"], RULE).failures
    assert PROOF.compare_outputs("final", {"scores": scores}, {"scores": scores[:1]}, GATES["graph"], RULE).faults
    logits = {"logits": scores}
    assert PROOF.compare_outputs("decoded", logits, {"logits": scores * 1.01}, GATES["graph"], RULE).failures


def test_the_rounding_of_the_input_explains_as_much_as_it_moves() -> None:
    moved = result(0.1, 0.54, 0.26, 0.1)
    plain = PROOF.compare(eager(FOUND), PLACED, moved, GATES["pipeline"], RULE)
    assert plain.failures
    enough = Rounding((result(0.1, 0.56, 0.24, 0.1),), 0.0)
    explained = PROOF.compare(eager(FOUND), PLACED, moved, GATES["pipeline"], RULE, enough)
    assert (explained.failures, len(explained.borderline)) == ((), 2)
    assert [figure.passed for figure in explained.figures] == [True]
    little = Rounding((result(0.1, 0.59, 0.21, 0.1),), 0.0)
    assert PROOF.compare(eager(FOUND), PLACED, moved, GATES["pipeline"], RULE, little).failures


def test_the_difference_has_both_sides_as_bars() -> None:
    drawn = PROOF.difference(IMAGE, FOUND, result(0.1, 0.2, 0.6, 0.1), GATES["pipeline"])
    assert drawn.words == "PyTorch finds class 1, the backend class 2; scores differ by 0.4 at most"
    for ink in (REFERENCE, CANDIDATE):
        assert (drawn.image == np.array(ink)).all(axis=2).any()
    assert PROOF.difference(IMAGE, FOUND, FOUND, {}).words == "both find class 1; scores differ by 0 at most"


def test_points_and_agreement() -> None:
    other = result(0.1, 0.2, 0.6, 0.1)
    scatter = PROOF.scatter([Compared("a.jpg", PLACED, eager(FOUND), other)], GATES["graph"])
    assert scatter.words == "The 5 best classes of either side; in 0 of 1 images the best one is the same"
    assert PROOF.agreement([FOUND], [FOUND]) == pytest.approx(100)
    assert PROOF.agreement([FOUND], [other]) == pytest.approx(60)
