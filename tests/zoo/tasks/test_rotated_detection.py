"""Rotated detection: results, DOTA's lines, the way to the image, comparison modulo the symmetry, drawing."""

import json
import math
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pipeline.parity.gates import merged_gates
from tests.examples import slow_but
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import InputError
from zoo.families import contract_module
from zoo.geometry.rotated import rotated_corners, rotated_iou
from zoo.geometry.rotated_boxes import CONVENTIONS, ROTATED, in_convention, is_in_convention
from zoo.input_kinds.image.reference_input import reference_input
from zoo.preprocess import Preprocess
from zoo.tasks import build_task
from zoo.tasks.proof import EagerResult, proof_of
from zoo.tasks.rotated_detection import RotatedDetectionResult
from zoo.tasks.rotated_detection.dota import read_dota
from zoo.tasks.rotated_detection.proof.contracts import in_convention as graph_convention
from zoo.tasks.rotated_detection.proof.in_image import in_convention as reference_convention

GRAPH = merged_gates()["graph"]
RULE = DecisionRule(0.05, 0.3, 10)
SIZES = [(100, 200), (97, 131), (301, 33)]


def task(angle: str = "le90") -> Any:
    classes = [{"name": name, "category_id": None} for name in ("ship", "small vehicle")]
    return build_task({"type": "RotatedDetection", "classes": classes, "angle": angle})


def result(*rows: tuple[float, ...], labels: tuple[int, ...] | None = None) -> RotatedDetectionResult:
    """Rows x y w h degrees, scores falling from 0.9."""
    boxes = np.array(rows, np.float32).reshape(-1, 5)
    boxes[:, 4] = np.radians(boxes[:, 4])
    scores = np.linspace(0.9, 0.6, len(boxes), dtype=np.float32)
    return RotatedDetectionResult(boxes, scores, np.array(labels or [0] * len(boxes)))


class TestOptions:
    def test_the_convention_is_part_of_a_manifest(self) -> None:
        assert task().options == {}
        assert task("oc").options == {"angle": "oc"}
        assert build_task({"type": "rotated-detection", "classes": [{"name": "a", "category_id": 1}]}).name

    def test_another_convention_is_refused(self) -> None:
        with pytest.raises(InputError, match="angle: got 'le180', expected 'le90' or 'oc' or 'le135'"):
            task("le180")

    def test_a_stretch_is_refused(self) -> None:
        with pytest.raises(InputError, match="makes parallelograms of rotated boxes; give resize="):
            task().check_preprocess(Preprocess((64, 96), resize="stretch"))


class TestResult:
    def test_rows_json_and_words(self) -> None:
        found = result((30, 20, 16, 8, 30), (50, 20, 16, 8, -90), labels=(0, 1)).of_task(task(), None)
        first, _ = found.rows()
        assert {name: first[name] for name in ("class", "x", "w", "h")} == {"class": "ship", "x": 30, "w": 16, "h": 8}
        assert first["angle"] == pytest.approx(math.pi / 6)
        assert list(first)[-5:] == ["x", "y", "w", "h", "angle"]
        assert set(first) == set(found.columns)
        assert found.to_dict()["objects"][1]["box"][4] == pytest.approx(-math.pi / 2)
        assert found.summary().startswith("2 objects: ")
        assert len(found.filter(classes="ship")) == 1

    def test_files(self) -> None:
        found = result((30, 20, 16, 8, 0), (50, 20, 10, 10, 0), labels=(0, 1)).of_task(task(), None)
        files = dict(task().files(np.zeros((60, 80, 3), np.uint8), found))
        assert [entry["class"] for entry in json.loads(files[".json"])] == ["ship", "small vehicle"]
        lines = files[".txt"].decode().splitlines()
        assert lines[1].split()[8:] == ["small-vehicle", "0"]
        objects = [entry for _, entry in read_dota(files[".txt"].decode())]
        corners = np.array([entry.corners for entry in objects]).reshape(2, 4, 2)  # type: ignore[union-attr]
        assert np.allclose(corners, found.corners, atol=0.005)

    def test_what_has_no_place_elsewhere(self) -> None:
        found = result((30, 20, 16, 8, 0)).of_task(task(), None)
        with pytest.raises(InputError, match="no COCO form"):
            found.to_coco(1)
        with pytest.raises(InputError, match=r"expected \[n, 5\]"):
            RotatedDetectionResult(np.zeros((1, 4)), np.zeros(1), np.zeros(1))

    def test_not_finite_ones_are_left_out(self) -> None:
        found = result((30, 20, 16, 8, 0), (math.nan, 20, 16, 8, 0))
        assert len(found.dota()) == 1
        assert found.to_dict()["objects"][1]["box"][0] is None

    def test_supervision(self) -> None:
        pytest.importorskip("supervision", reason="extra [supervision] is not installed")
        found = result((30, 20, 16, 8, 30), labels=(1,)).of_task(task(), None)
        theirs = found.to_supervision()
        assert np.array_equal(theirs.data["xyxyxyxy"], found.corners)
        assert theirs.data["class_name"].tolist() == ["small vehicle"]
        assert np.allclose(theirs.xyxy[0], [*found.corners[0].min(axis=0), *found.corners[0].max(axis=0)])


class TestDotaLines:
    def test_lines(self) -> None:
        text = "imagesource:GoogleEarth\ngsd:0.14\n1 2 3 4 5 6 7 8 ship 1\n\n1.5 2 3 4 5 6 7 8 plane\n"
        (first, ship), (second, plane) = read_dota(text)
        assert (first, second) == (3, 5)
        assert ship == ((1, 2, 3, 4, 5, 6, 7, 8), "ship", True)
        assert plane == ((1.5, 2, 3, 4, 5, 6, 7, 8), "plane", False)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("1 2 3 4 ship 0", "got 6 words, expected x1 y1"),
            ("1 2 3 4 5 6 7 x ship 0", "expected eight numbers"),
            ("1 2 3 4 5 6 7 nan ship 0", "expected finite coordinates"),
            ("1 2 3 4 5 6 7 8 ship maybe", "got 'maybe' for difficult"),
        ],
    )
    def test_wrong_lines(self, line: str, words: str) -> None:
        ((number, message),) = read_dota(line)
        assert number == 1
        assert isinstance(message, str)
        assert words in message


@pytest.mark.parametrize("convention", slow_but(CONVENTIONS, "le90"))
def test_three_ways_to_a_convention_are_one(convention: str) -> None:
    """Production's in float64, the graph's in float32, and the reference's by trying: the same rectangles, in it."""
    rng = np.random.default_rng(0)
    boxes = np.c_[rng.uniform(0, 90, (400, 2)), rng.uniform(1, 60, (400, 2)), rng.uniform(-7, 7, 400)].astype(
        np.float32
    )
    boxes[:40, 4] = np.round(boxes[:40, 4] / (np.pi / 4)) * (np.pi / 4)
    graph = graph_convention(torch.from_numpy(boxes), convention).numpy()
    reference = np.array([reference_convention(box, convention) for box in boxes.astype(float).tolist()])
    for rows in (in_convention(boxes, convention), graph, reference.astype(np.float32)):
        assert is_in_convention(rows, convention).all()
        assert np.diag(ROTATED.errors(boxes, rows)["boxes"]).max() < 1e-4


class Fixed(nn.Module):
    """A detector of fixed boxes in the tensor's frame."""

    detections_per_img = 4

    def __init__(self, boxes: NDArray[np.float32]) -> None:
        super().__init__()
        self.boxes = torch.from_numpy(boxes)

    def forward(self, images: Tensor) -> list[dict[str, Tensor]]:
        count = len(self.boxes)
        one = {
            "boxes": self.boxes.clone(),
            "scores": torch.linspace(0.9, 0.6, count),
            "labels": torch.zeros(count, dtype=torch.int64),
        }
        return [one] * len(images)


BOXES = np.array([[30, 20, 16, 8, 0.5], [50, 30, 6, 20, 2.9], [70, 40, 9, 9, -4.0]], np.float32)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("size", SIZES)
def test_the_way_to_the_image_and_back(size: tuple[int, int], convention: str) -> None:
    rule = Preprocess((64, 96))
    image = np.zeros((*size, 3), np.uint8)
    geometry, placed = rule.geometry(*size), reference_input(image, {"size": (64, 96)})
    proof = proof_of(task(convention))
    outputs = {
        "num_dets": np.array([2]),
        "boxes": np.pad(BOXES[None, :2], ((0, 0), (0, 2), (0, 0))),
        "scores": np.array([[0.9, 0.75, 0, 0]], np.float32),
        "labels": np.array([[0, 0, -1, -1]]),
    }
    (found,) = task(convention).results(outputs, [geometry])
    expected, _ = proof.eager_result(Fixed(BOXES[:2]), {}, placed.tensor[0], placed)
    findings = proof.compare(EagerResult(placed.tensor[0].numpy(), expected), placed, found, GRAPH, RULE)
    assert findings.failures
    again = RotatedDetectionResult(found.boxes, expected.scores, found.labels)  # type: ignore[attr-defined]
    findings = proof.compare(EagerResult(placed.tensor[0].numpy(), expected), placed, again, GRAPH, RULE)
    assert not findings.failures
    assert findings.matched == 2
    assert findings.figures[0].max_error is not None
    assert findings.figures[0].max_error < 1e-3
    back = proof.in_tensor(found, placed)
    assert np.diag(ROTATED.errors(back.boxes, BOXES[:2])["boxes"]).max() < 0.5  # sizes are rounded to whole pixels
    way_back = proof.way_back(geometry, placed, {"boxes": 0.01})
    assert way_back is not None
    assert not way_back.failures
    wrong = proof.way_back(geometry._replace(offset=(3, 0)), placed, {"boxes": 0.5})
    assert wrong is not None
    assert "PyTorch has" in wrong.failures[0]


class TestOfNoFamily:
    """A module whose forward gives torchvision's dictionaries with rotated boxes."""

    @pytest.mark.parametrize("convention", CONVENTIONS)
    def test_its_boxes_come_in_the_convention(self, convention: str) -> None:
        module = contract_module(Fixed(BOXES), task(convention), "final", {})
        num_dets, boxes, scores, labels = (tensor.numpy() for tensor in module(torch.zeros(2, 3, 64, 96)))
        assert num_dets.tolist() == [3, 3]
        assert boxes.shape == (2, 4, 5)
        assert is_in_convention(boxes[0, :3], convention).all()
        assert np.diag(ROTATED.errors(boxes[0, :3], BOXES)["boxes"]).max() < 1e-4
        assert not boxes[:, 3].any()
        assert labels[:, 3].tolist() == [-1, -1]
        assert scores.shape == (2, 4)

    def test_more_than_it_says_is_an_error(self) -> None:
        module = contract_module(Fixed(np.repeat(BOXES, 2, axis=0)), task(), "final", {})
        with pytest.raises(InputError, match="gives 6 detections for an image, and its detections_per_img is 4"):
            module(torch.zeros(1, 3, 64, 96))


def test_two_models_that_find_the_same_agree() -> None:
    proof = proof_of(task())
    one = result((30, 20, 16, 8, 80), (60, 30, 20, 6, 0))
    seam = RotatedDetectionResult(one.boxes + np.array([0, 0, 0, 0, np.pi], np.float32), one.scores, one.labels)
    turned = RotatedDetectionResult(one.boxes + np.array([0, 0, 0, 0, 0.3], np.float32), one.scores, one.labels)
    assert proof.agreement([one], [seam]) == pytest.approx(100, abs=1e-3)
    assert 40 < proof.agreement([one], [turned]) < 90


class TestComparison:
    proof: Any = proof_of(task())

    def compared(self, one: Any, other: Any) -> Any:
        return self.proof.compare_sets(one, other, GRAPH, RULE)

    def test_the_seam_of_the_angle_is_no_error(self) -> None:
        findings = self.compared(result((30, 20, 16, 8, 89.999)), result((30, 20, 16, 8, -89.999)))
        assert not findings.failures
        assert findings.matched == 1

    def test_a_square_may_begin_with_either_side(self) -> None:
        assert not self.compared(result((30, 20, 16, 16, 20)), result((30, 20, 16, 16, -70))).failures

    def test_a_turned_box_is_an_error(self) -> None:
        findings = self.compared(result((30, 20, 16, 8, 10)), result((30, 20, 16, 8, 12)))
        assert findings.failures == (
            "label 0, score 0.9000, box [30.0, 20.0, 16.0, 8.0, 10.0 degrees] is 0.301 px and 0 of score away",
        )

    def test_another_convention_is_a_fault(self) -> None:
        sides = (result((30, 20, 16, 8, 10)), result((30, 20, 8, 16, 100)))
        reference, candidate = (
            {"num_dets": np.array([1])} | {name: array[None] for name, array in side.arrays.items()} for side in sides
        )
        findings = self.proof.compare_outputs("final", reference, candidate, GRAPH, RULE)
        assert findings.faults == (
            "the backend: box [30.0000, 20.0000, 8.0000, 16.0000, 100.0000 degrees] is not in the convention le90",
        )

    def test_an_overlap_at_the_nms_threshold_is_borderline(self) -> None:
        """Of rotated boxes: of the upright ones around them the overlap is another."""
        best, other = (30, 20, 20, 10, 40), (34, 20, 20, 10, 40)
        both = result(best, other)
        overlap = float(rotated_iou(both.boxes[:1], both.boxes[1:])[0, 0])
        alone = RotatedDetectionResult(both.boxes[:1], both.scores[:1], both.labels[:1])
        rule = DecisionRule(0.05, overlap, 10)
        findings = self.proof.compare_sets(both, alone, GRAPH, rule)
        assert not findings.failures
        assert "NMS IoU" in findings.borderline[0].reason
        assert self.proof.compare_sets(both, alone, GRAPH, RULE).failures

    def test_both_sides_finding_nothing_is_blank(self) -> None:
        assert self.compared(result(), result()).blank


class TestDrawing:
    def test_the_lines_lie_on_the_corners(self) -> None:
        image = np.zeros((120, 160, 3), np.uint8)
        found = result((80, 60, 60, 30, 35)).of_task(task(), None)
        drawn = task().draw(image, found)
        assert not image.any()
        for x, y in np.rint(rotated_corners(found.boxes[0])).astype(int).tolist():
            assert drawn[y - 1 : y + 2, x - 1 : x + 2].any()
        assert not drawn[60, 80].any()  # nothing is filled

    def test_the_difference(self) -> None:
        proof = proof_of(task())
        image = np.full((120, 160, 3), 200, np.uint8)
        one, other = result((80, 60, 60, 30, 35), (30, 30, 20, 10, 0)), result((80, 60, 60, 30, 35))
        difference = proof.difference(image, one, other, merged_gates()["pipeline"])
        assert difference.words == "1 object found by both, 1 only by PyTorch, 0 only by the backend"
        assert difference.image is not None
        assert cv2.cvtColor(difference.image, cv2.COLOR_BGR2HSV)[..., 1].any()
