import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from zoo.comparison.decision_rule import DecisionRule
from zoo.contract.valid_points import valid_points
from zoo.errors import InputError
from zoo.geometry import BOXES_3D
from zoo.kitti import points_frame_boxes, read_label
from zoo.kitti.calibration import NOMINAL
from zoo.tasks import OutputRole, find_task
from zoo.tasks.detection3d import Detection3D, Detection3DResult
from zoo.tasks.detection3d.bird_eye import BirdEye
from zoo.tasks.proof import EagerResult, proof_of

TASK = Detection3D([{"name": name, "category_id": None} for name in ("car", "pedestrian", "cyclist")])
PROOF = proof_of(TASK)
GATES = TASK.own_gates["graph"] | {"nms_iou": 1e-4}
RULE = DecisionRule(score=0.1, nms_iou=0.2, slots=50)
PI = np.float32(np.pi)


def found(count=4, seed=0, **changes):
    rng = np.random.default_rng(seed)
    boxes = np.concatenate(
        (
            np.stack((10.0 * np.arange(1, count + 1), rng.uniform(-9, 9, count), rng.uniform(-1, 0, count)), axis=1),
            rng.uniform(0.5, 4, (count, 3)),
            rng.uniform(-3, 3, (count, 1)),
        ),
        axis=1,
    )
    labels = np.arange(count) % 3
    result = Detection3DResult(boxes, np.linspace(0.9, 0.4, count), labels)
    return replace(result, **changes) if changes else result


def moved(result, **columns):
    """The boxes with some columns changed by a number."""
    boxes = result.boxes.copy()
    for name, change in columns.items():
        boxes[:, BOXES_3D.columns.index(name)] += np.float32(change)
    return replace(result, boxes=boxes)


def compared(reference, candidate, margins=None, rule=RULE):
    expected = EagerResult(np.zeros((1, 4), np.float32), reference, margins)
    return PROOF.compare(expected, None, candidate, GATES, rule)


def cloud():
    rng = np.random.default_rng(1)
    return np.concatenate((rng.uniform((0, -15, -2), (45, 15, 1), (500, 3)), rng.random((500, 1))), 1).astype("f4")


def test_it_is_known_with_the_gates_of_the_issue():
    assert find_task("detection3d") is Detection3D
    assert {name: GATES[name] for name in ("boxes", "yaw", "scores")} == {"boxes": 1e-3, "yaw": 1e-3, "scores": 1e-4}
    assert TASK.own_gates["pipeline"]["boxes"] == 1e-3
    assert TASK.kind.name == "points"
    assert TASK.roles["boxes"] is OutputRole.BOXES_3D


def test_padded_outputs_become_results_in_the_frame_of_the_points():
    boxes = np.zeros((2, 3, 7), np.float32)
    boxes[0, :2] = found(2).boxes
    boxes[0, 1, 6] = PI  # at the other end of its range
    outputs = {
        "num_dets": np.array([2, 0]),
        "boxes": boxes,
        "scores": np.array([[0.9, 0.5, 0], [0, 0, 0]], np.float32),
        "labels": np.array([[1, 2, -1], [-1, -1, -1]]),
    }
    first, second = TASK.results(outputs, [100, 0])
    np.testing.assert_array_equal(first.boxes[:, :6], boxes[0, :2, :6])
    assert first.boxes[1, 6] == -PI
    assert (len(first), len(second)) == (2, 0)
    assert [each.name for each in first] == ["pedestrian", "cyclist"]


@given(st.floats(-4, 4), st.floats(-2e-3, 2e-3))
def test_yaw_is_compared_modulo_a_turn(yaw, change):
    first = np.array([[1, 2, 3, 4, 2, 1, yaw]], np.float32)
    second = first + np.array([0, 0, 0, 0, 0, 0, 2 * np.pi + change])
    errors = BOXES_3D.errors(first, second)
    assert errors["yaw"][0, 0] == pytest.approx(abs(change), abs=1e-6)
    assert errors["boxes"][0, 0] == 0
    of_rows = np.abs(BOXES_3D.rows(first) - BOXES_3D.rows(second)).max()  # the larger of cosine's and sine's
    assert abs(change) / np.sqrt(2) - 1e-6 <= of_rows <= abs(change) + 1e-6


def test_equal_sets_agree_in_any_order():
    reference = found(5)
    candidate = moved(reference, x=5e-4, yaw=2 * math.pi + 5e-4)[np.array([3, 1, 4, 0, 2])]
    findings = compared(reference, candidate)
    assert not findings.failures
    assert findings.matched == 5
    assert {figure.name: figure.unit for figure in findings.figures} == {"boxes": "m", "yaw": "rad", "scores": ""}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"x": 2e-3}, "0.002 m and 0 rad"),
        ({"h": 2e-3}, "0.002 m and 0 rad"),
        ({"yaw": 2e-3}, "0 m and 0.002 rad"),
        ({"yaw": math.pi}, "0 m and 3.14 rad"),
    ],
)
def test_boxes_beyond_a_gate_are_failures(columns, words):
    findings = compared(found(), moved(found(), **columns))
    assert len(findings.failures) == 4
    assert words in findings.failures[0]


def test_scores_labels_and_missing_boxes_are_failures():
    reference = found()
    assert len(compared(reference, replace(reference, scores=reference.scores + np.float32(2e-4))).failures) == 4
    assert len(compared(reference, replace(reference, labels=(reference.labels + 1) % 3)).failures) == 8
    (failure,) = compared(reference, reference[:3]).failures
    assert failure.startswith("the backend misses label 0, score 0.4")


def test_both_sides_finding_nothing_is_blank():
    nothing = found(0)
    assert compared(nothing, nothing).blank
    assert not compared(found(), found()).blank
    assert PROOF.is_blank({"num_dets": np.zeros(2, np.int64)})


def test_a_box_on_a_threshold_is_borderline():
    at_score = found(2, scores=np.array([0.9, 0.10005], np.float32))
    findings = compared(at_score, at_score[:1])
    assert not findings.failures
    assert "of the score threshold" in findings.borderline[0].reason
    pair = found(2, labels=np.zeros(2, np.int64))
    boxes = pair.boxes.copy()
    boxes[1] = boxes[0]
    boxes[:, 3:6], boxes[:, 6] = (4, 2, 1.5), 0.5
    shift = 4 * (1 - 0.2) / (1 + 0.2)  # along the heading: an IoU of 0.2 from above
    boxes[1, :2] += np.array((math.cos(0.5), math.sin(0.5))) * shift
    boxes[1, 2] += 1  # the height does not matter
    pair = replace(pair, boxes=boxes)
    findings = compared(pair, pair[:1])
    assert not findings.failures
    assert "of the NMS threshold 0.2" in findings.borderline[0].reason


def test_a_direction_that_is_open_may_be_the_other_one():
    reference = found()
    boxes = reference.boxes.copy()
    boxes[1, 6] += PI
    boxes[2, 6] -= PI
    candidate = replace(reference, boxes=boxes)
    margins = np.array([1.0, 5e-5, 0.5, 1e-5], np.float32)
    findings = compared(reference, candidate, margins)
    (failure,) = findings.failures
    assert "3.14 rad" in failure  # the one whose logits are far apart
    (borderline,) = findings.borderline
    assert "its two directions are 5e-05 apart" in borderline.reason
    assert len(compared(reference, candidate).failures) == 2
    assert not compared(reference, reference, margins).borderline


def test_outputs_of_a_graph_are_compared_with_the_margins_of_the_model():
    reference = found(3)
    other = reference.boxes.copy()
    other[0, 6] += PI
    outputs = {"num_dets": np.array([3]), "scores": reference.scores[None], "labels": reference.labels[None]}
    ours, theirs = outputs | {"boxes": reference.boxes[None]}, outputs | {"boxes": other[None]}
    margins = torch.tensor([1e-5, 1, 1])
    detections = {"boxes": reference.boxes, "scores": reference.scores, "labels": reference.labels}
    logits = PROOF.logits(
        [{name: torch.tensor(value) for name, value in detections.items()} | {"direction_margins": margins}], ours
    )
    assert not PROOF.compare_outputs("final", ours, theirs, GATES, RULE, logits).failures
    assert PROOF.compare_outputs("final", ours, theirs, GATES, RULE, [None]).failures
    with pytest.raises(InputError, match=r"direction_margins have the shape \[2\], expected \[3\], one for each box"):
        PROOF.logits([{"scores": torch.zeros(3), "direction_margins": margins[:2]}], ours)


class Fixed(nn.Module):
    """One box where the mean of the points is, in each cloud."""

    detections_per_img = 2

    def forward(self, points):
        boxes = [torch.cat((cloud[:, :3].mean(dim=0), torch.tensor([4, 2, 1.5, np.pi])))[None] for cloud in points]
        return [{"boxes": box, "scores": torch.tensor([0.5]), "labels": torch.tensor([1])} for box in boxes]


def test_the_models_own_result_is_that_of_the_cloud_without_its_padding():
    points = torch.rand(2, 6, 4)
    clouds = valid_points(points, torch.tensor([6, 2]))
    assert [len(each) for each in clouds] == [6, 2]
    result, margins = PROOF.eager_result(Fixed(), {}, clouds[1], None)
    assert margins is None
    np.testing.assert_allclose(result.boxes[0, :3], points[1, :2, :3].mean(dim=0), rtol=1e-6)
    assert result.boxes[0, 6] == -PI
    contract = PROOF.contracts["final"](Fixed(), {})
    num_dets, boxes, scores, labels = contract(points, torch.tensor([6, 2]))
    assert num_dets.tolist() == [1, 1]
    assert boxes.shape == (2, 2, 7)
    np.testing.assert_allclose(boxes[1, 0, :6], result.boxes[0, :6], rtol=1e-6)
    assert (scores.tolist(), labels.tolist()) == ([[0.5, 0], [0.5, 0]], [[1, -1], [1, -1]])


def test_files_are_json_and_kittis_result_lines():
    result = found(3).of_task(TASK, None)
    files = dict(TASK.files(cloud(), result))
    objects = json.loads(files[".json"])
    assert [each["class"] for each in objects] == ["car", "pedestrian", "cyclist"]
    assert objects[0]["box"] == pytest.approx(result.boxes[0].tolist())
    lines = [entry for _, entry in read_label(files[".txt"].decode())]
    assert [entry.type for entry in lines] == ["Car", "Pedestrian", "Cyclist"]
    np.testing.assert_allclose(points_frame_boxes(lines, NOMINAL), result.boxes, atol=0.011)
    row = result.rows()[0]
    assert row["yaw"] == pytest.approx(float(result.boxes[0, 6]))
    assert set(row) == set(result.columns)


def test_kittis_result_lines_are_of_what_is_in_the_image():
    boxes = [(-10, 0, -0.5, 4, 1.6, 2.5, 0), (20, 1, -1, 4, 1.6, 1.5, 0), (3, 40, -1, 4, 1.6, 1.5, 0)]
    result = Detection3DResult(boxes, [0.9, 0.5, 0.4], [0, 1, 2]).of_task(TASK, None)
    (line,) = result.kitti()
    assert (line.type, line.score) == ("Pedestrian", 0.5)
    assert line.box[2] - line.box[0] > 50


def test_forms_that_have_no_boxes_in_space_are_refused():
    result = found(1).of_task(TASK, None)
    with pytest.raises(InputError, match="task detection3d has no COCO form"):
        result.to_coco(1)
    with pytest.raises(InputError, match="has no form in supervision"):
        result.to_supervision()
    with pytest.raises(InputError, match=r"expected \[n, 7\]"):
        Detection3DResult(np.zeros((1, 4)), np.zeros(1), np.zeros(1))


def test_corners_are_those_of_the_turned_box():
    result = Detection3DResult([[10, 0, 1, 4, 2, 1.5, math.pi / 2]], [0.9], [0])
    corners = result.corners[0]
    np.testing.assert_allclose(corners.min(axis=0), [9, -2, 0.25], atol=1e-6)
    np.testing.assert_allclose(corners.max(axis=0), [11, 2, 1.75], atol=1e-6)
    np.testing.assert_allclose(corners[0], [9, 2, 0.25], atol=1e-6)  # front left, where left of +y is -x


def test_the_drawing_is_from_above_and_forward_is_up():
    points = np.array([[40, 0, 0, 0], [0, 15, -2, 0], [0, -15, -2, 0]], np.float32)
    view = BirdEye.of(points)
    assert max(view.size) == 960
    (box,) = view.in_pixels(np.array([[20.0, 5, 0, 4, 2, 1.5, 0]]))
    height, width = view.size
    assert box[0] < width / 2  # left of the middle
    assert box[1] == pytest.approx(height / 2, abs=1)
    assert box[3] == pytest.approx(4 * view.scale)
    assert math.sin(box[6]) == pytest.approx(-1)  # the heading points up
    canvas = view.canvas(points)
    assert (canvas.any(axis=2)).sum() == 3
    assert view.canvas(points[:0]).any() == np.False_
    assert BirdEye.of(points[:0]).size[0] > 0


def test_results_ground_truth_and_differences_are_drawn():
    points, result = cloud(), found().of_task(TASK, None)
    drawing = TASK.draw(points, result)
    assert not np.array_equal(drawing, BirdEye.of(points).canvas(points))
    np.testing.assert_array_equal(drawing, TASK.draw(points, result))
    with_truth = TASK.with_truth(drawing, points, {"boxes": result.boxes})
    changed = (with_truth != drawing).any(axis=2)
    assert changed.sum() > 100
    assert (with_truth[changed].min(axis=1) > 50).mean() > 0.5  # white, and grey at the edges of the lines
    apart = PROOF.difference(points, result, result[:3], TASK.own_gates["pipeline"])
    assert apart.words == "3 objects found by both, 1 only by PyTorch, 0 only by the backend"
    assert apart.image is not None
    assert apart.image.shape == drawing.shape
    assert PROOF.difference(points, result[:0], result[:0], GATES).image is None


def test_how_far_two_models_agree_knows_no_ground_truth():
    assert PROOF.agreement([found()], [found()]) == pytest.approx(100, abs=1e-4)
    assert PROOF.agreement([found()], [found()[:0]]) == 0
    assert 40 < PROOF.agreement([found(2)], [moved(found(2), x=0.3)]) < 100
