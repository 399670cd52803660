"""Each output level has its rule: slots, rows, label maps, plain tensors."""

import numpy as np
import pytest

from pipeline.parity.gates import GRAPH
from pipeline.parity.levels import compare_outputs
from tests.small_tasks import small_task
from zoo.comparison import Findings, compare_tensor
from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks.detection.proof.slots import slot_problems
from zoo.tasks.semantic_segmentation.proof.label_maps import compare_label_maps

RULE = DecisionRule(0.05, 0.5, 3)
RANDOM = np.random.default_rng(0)


def slots() -> dict[str, np.ndarray]:
    """Two images: two detections, none; three slots."""
    boxes = np.zeros((2, 3, 4), np.float32)
    boxes[0, :2] = ((10, 10, 50, 50), (100, 100, 140, 130))
    scores = np.array([[0.9, 0.4, 0], [0, 0, 0]], np.float32)
    labels = np.array([[1, 2, -1], [-1, -1, -1]])
    return {"num_dets": np.array([2, 0]), "boxes": boxes, "scores": scores, "labels": labels}


def detect(reference: dict[str, np.ndarray], candidate: dict[str, np.ndarray], level: str = "final") -> Findings:
    return compare_outputs(small_task("detection"), level, reference, candidate, GRAPH, RULE)


def test_slots_that_agree() -> None:
    result = detect(slots(), slots())
    assert (result.matched, result.failures, result.blank) == (2, (), False)


@pytest.mark.parametrize(
    ("name", "index", "value", "words"),
    [
        ("labels", (0, 2), 0, "slots past num_dets = 2 hold values, expected zeros and label -1"),
        ("scores", (1, 0), 1e-9, "image 1: slots past num_dets = 0 hold values"),
        ("boxes", (0, 2, 3), np.nan, "slots past num_dets = 2 hold values"),
        ("num_dets", 0, 4, "num_dets is 4, expected 0 to 3"),
        ("num_dets", 1, -1, "num_dets is -1, expected 0 to 3"),
        ("labels", (0, 1), -1, "a label below 0 among the first num_dets = 2 slots"),
    ],
)
def test_bad_padding_is_a_failure(name: str, index: object, value: float, words: str) -> None:
    bad = slots()
    bad[name][index] = value  # type: ignore[index]
    assert any(words in problem for problem in slot_problems(bad))
    failures = detect(slots(), bad).failures
    assert any(failure.startswith("the backend, ") and words in failure for failure in failures), failures


def test_another_dtype_shape_or_name_is_a_failure() -> None:
    narrow = slots() | {"labels": slots()["labels"].astype(np.int32)}
    assert detect(slots(), narrow).failures == ("labels: the backend gives int32 [2, 3], PyTorch int64 [2, 3]",)
    short = {name: array[:1] for name, array in slots().items()}
    assert "the backend gives int64 [1], PyTorch int64 [2]" in detect(slots(), short).failures[0]
    renamed = slots()
    renamed["classes"] = renamed.pop("labels")
    assert detect(slots(), renamed).failures == ("outputs classes, labels: only PyTorch has them",)


def decoded() -> dict[str, np.ndarray]:
    corners = RANDOM.uniform(0, 200, (2, 20, 3, 2))
    boxes = np.concatenate((corners, corners + 20), axis=3).astype(np.float32)
    return {"boxes": boxes, "scores": RANDOM.uniform(0, 1, (2, 20, 3)).astype(np.float32)}


def test_rows_in_another_order_agree() -> None:
    reference = decoded()
    order = RANDOM.permutation(20)
    shuffled = {name: array[:, order] + np.float32(1e-5) for name, array in reference.items()}
    result = detect(reference, shuffled, "decoded")
    assert (result.matched, result.failures) == (40, ())


def test_a_row_that_lost_its_scores_to_another_is_a_failure() -> None:
    reference = decoded()
    mixed = {"boxes": reference["boxes"], "scores": reference["scores"][:, ::-1].copy()}
    failures = detect(reference, mixed, "decoded").failures
    assert any("rows have no partner within the gates" in failure for failure in failures)


def test_a_row_that_is_wrong_or_not_finite_is_a_failure() -> None:
    for value, words in ((0.2, "boxes: largest error 0.2 px, gate 0.05 px"), (np.nan, "boxes: NaN or infinity")):
        reference, candidate = decoded(), None
        candidate = {name: array.copy() for name, array in reference.items()}
        candidate["boxes"][1, 3, 2, 0] += value
        assert detect(reference, candidate, "decoded").failures[0].startswith(words)


def test_raw_rows_are_gated_by_the_range_of_each_tensor() -> None:
    reference = {
        "proposals": decoded()["boxes"][:, :, 0],
        "class_logits": RANDOM.uniform(-50, 50, (2, 20, 3)).astype(np.float32),
    }
    for error, passes in ((0.005, True), (0.02, False)):
        candidate = reference | {"class_logits": reference["class_logits"] + np.float32(error)}
        assert bool(detect(reference, candidate, "raw").failures) is not passes


def test_plain_tensors() -> None:
    reference = RANDOM.uniform(-10, 10, (1, 3, 8, 8)).astype(np.float32)
    good = compare_tensor("logits", reference, reference + np.float32(1e-3), 1e-4)
    assert good.failures == ()
    assert good.figures[0].max_error == pytest.approx(1e-3 / 20, rel=0.05)
    assert good.figures[0].cosine == pytest.approx(1.0)
    bad = compare_tensor("logits", reference, reference + np.float32(1e-2), 1e-4)
    assert bad.failures[0].startswith("logits: largest error 0.0005")
    for side in (0, 1):
        broken = [reference, reference.copy()]
        broken[side] = reference.copy()
        broken[side][0, 0, 0, 0] = np.inf
        result = compare_tensor("logits", broken[0], broken[1], 1e-4)
        assert result.failures == ("logits: NaN or infinity in the outputs",)
        assert result.figures[0].max_error is None
    assert compare_tensor("logits", reference[:0], reference[:0], 1e-4).blank


class TestLabelMaps:
    logits = np.zeros((1, 3, 2, 2), np.float32)
    logits[0, :, 0, 0] = (0, 10, 9.999)  # nearly equal: label 1 or 2
    logits[0, :, 0, 1] = (0, 10, 5)
    logits[0, :, 1, 0] = (10, 0, 0)
    logits[0, :, 1, 1] = (0, 0, 10)
    labels = logits.argmax(axis=1).astype(np.uint8)

    def changed(self, y: int, x: int, label: int) -> Findings:
        candidate = self.labels.copy()
        candidate[0, y, x] = label
        return compare_label_maps(self.labels, candidate, self.logits, gate=1e-4)

    def test_equal(self) -> None:
        result = compare_label_maps(self.labels, self.labels, self.logits, gate=1e-4)
        assert (result.matched, result.failures, result.borderline, result.blank) == (4, (), (), False)

    def test_a_pixel_between_two_labels_is_borderline(self) -> None:
        result = self.changed(0, 0, 2)
        assert (result.matched, result.failures) == (3, ())
        assert result.borderline[0].what == "1 pixels relabelled"

    def test_a_pixel_that_was_certain_is_a_failure(self) -> None:
        assert (
            "1 of 4 pixels relabelled, label margin: largest error 0.5 of range, gate 0.0002"
            in self.changed(0, 1, 2).failures[0]
        )

    def test_a_pixel_between_two_labels_must_not_take_a_third(self) -> None:
        assert self.changed(0, 0, 0).failures

    def test_a_label_that_the_model_does_not_have(self) -> None:
        assert self.changed(0, 0, 7).failures == ("label_map: the backend gives label 7, the model has 0 to 2",)

    def test_not_finite_logits_of_the_reference(self) -> None:
        result = compare_label_maps(self.labels, self.labels, self.logits + np.float32(np.nan), gate=1e-4)
        assert result.failures == ("NaN or infinity in the logits of PyTorch",)

    def test_one_label_everywhere_is_blank(self) -> None:
        flat = np.zeros_like(self.labels)
        assert compare_label_maps(flat, flat, self.logits, gate=1e-4).blank

    def test_a_gate_on_the_part_of_all_pixels(self) -> None:
        candidate = self.labels.copy()
        candidate[0, 0, 1] = 2
        assert compare_label_maps(self.labels, candidate, self.logits, pixels=0.25).failures == ()
        failures = compare_label_maps(self.labels, candidate, self.logits, pixels=0.2).failures
        words = "1 of 4 pixels relabelled, relabelled beyond rounding: largest error 0.25 of all, gate 0.2 of all"
        assert failures == (words,)

    def test_what_the_rounding_of_the_input_explains_is_no_failure(self) -> None:
        candidate = self.labels.copy()
        candidate[0, 0, 1] = 2  # a margin of 5
        for explained, failed in ((5.1, False), (4.9, True)):
            found = compare_label_maps(self.labels, candidate, self.logits, pixels=0.2, explained=explained)
            assert bool(found.failures) is failed
            assert [figure.max_error for figure in found.figures] == [0.5, 0.25, 0.25 if failed else 0.0]

    def test_pixels_of_a_larger_map_look_up_their_place_in_the_logits(self) -> None:
        labels = self.labels.repeat(2, axis=1).repeat(2, axis=2)
        places = ((np.array([0, 0, 1, 1]),), (np.array([0, 0, 1, 1]),))
        candidate = labels.copy()
        candidate[0, 1, 1] = 2
        assert compare_label_maps(labels, candidate, self.logits, gate=1e-4, places=places).failures == ()
        candidate[0, 1, 2] = 2
        assert compare_label_maps(labels, candidate, self.logits, gate=1e-4, places=places).failures

    def test_between_two_pixels_the_label_may_be_of_either(self) -> None:
        """The middle of three columns is as near to either: its label may change as that of the nearer margin."""
        labels = self.labels[:, :, [0, 0, 1]]
        candidate = labels.copy()
        candidate[0, 1, 1] = 1  # at the left a margin of 10, at the right one of 0.0005
        logits = self.logits.copy()
        logits[0, :, 1, 1] = (0, 9.9995, 10)
        rows = (np.array([0, 1]),)
        for columns, failed in (((np.array([0, 0, 1]),), True), ((np.array([0, 0, 1]), np.array([0, 1, 1])), False)):
            found = compare_label_maps(labels, candidate, logits, gate=1e-4, places=(rows, columns))
            assert bool(found.failures) is failed
