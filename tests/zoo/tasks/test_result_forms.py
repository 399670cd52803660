"""Results as others use them: names, filters, plain types, COCO, supervision, words."""

import json
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pycocotools import mask as pycocotools_mask
from pycocotools.coco import COCO

from zoo.errors import BackendUnavailableError, InputError
from zoo.preprocess import Preprocess
from zoo.tasks import Result, build_task
from zoo.tasks.detection import DetectionResult
from zoo.tasks.run_lengths import run_lengths

SIZE = (64, 96)
CLASSES = [
    {"name": "background", "category_id": None},
    {"name": "cat", "category_id": 7},
    {"name": "dog", "category_id": 9},
]
BOXES = np.array([[[1, 2, 30.5, 40], [5, 6, 20, 30], [7, 8, 9, 10]]], np.float32)
MASKS = np.random.default_rng(0).random((1, 3, 28, 28)).astype(np.float32)
KEYPOINTS = np.arange(36, dtype=np.float32).reshape(1, 3, 4, 3)
LABEL_MAP = np.repeat([[0, 1, 2]], 32, axis=1).astype(np.uint8) * np.ones((64, 1), np.uint8)


def decoded(mask: dict[str, Any]) -> np.ndarray:
    """By pycocotools."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pycocotools' own, with numpy 2
        return np.asarray(pycocotools_mask.decode(mask)).astype(np.bool_)


def result(task: str, detections: int = 2, **changes: Any) -> Any:
    """What the task makes of a graph's outputs."""
    outputs = {
        "num_dets": np.array([detections]),
        "boxes": BOXES,
        "scores": np.array([[0.9, 0.4, 0.0]], np.float32),
        "labels": np.array([[1, 2, -1]]),
        "masks": MASKS,
        "keypoints": KEYPOINTS,
        "label_map": LABEL_MAP[None],
        "image": np.zeros((1, 3, 128, 192), np.float32),
    }
    if task == "ImageClassification":
        outputs["scores"] = np.array([[0.1, 0.2, 0.7]], np.float32)
    classes = {} if task == "SuperResolution" else {"classes": CLASSES}
    (made,) = build_task({"type": task, **classes}).results(outputs | changes, [Preprocess(SIZE).geometry(*SIZE)])
    return made


DETECTORS = ("Detection", "InstanceSegmentation", "KeypointDetection")
TASKS = (*DETECTORS, "SemanticSegmentation", "ImageClassification", "SuperResolution")


class TestDetections:
    @pytest.mark.parametrize("task", DETECTORS)
    def test_each_object_by_itself(self, task: str) -> None:
        found = result(task)
        assert [(each.name, each.label, round(each.score, 2)) for each in found] == [("cat", 1, 0.9), ("dog", 2, 0.4)]
        np.testing.assert_array_equal(found[1].box, BOXES[0, 1])
        assert found.names == {0: "background", 1: "cat", 2: "dog"}

    @pytest.mark.parametrize("task", DETECTORS)
    def test_filters_keep_every_array_and_the_names(self, task: str) -> None:
        found = result(task)
        assert found.filter(score=0.4) == found  # that score, or a better one
        assert found.filter(score=0.5) == found[found.scores > 0.5] == found[:1]
        assert found.filter(classes=["dog"]) == found.filter(classes=2) == found[1:]
        assert [each.name for each in found.filter(score=0.5, classes={"cat", "dog"})] == ["cat"]
        assert len(found.filter(score=0.5, classes="dog")) == 0
        with pytest.raises(InputError, match='unknown class "dgo"; nearest: "dog"'):
            found.filter(classes="dgo")

    def test_coco_reads_boxes_masks_and_keypoints(self) -> None:
        truth = COCO()
        truth.dataset = {"images": [{"id": 5}], "annotations": [], "categories": [{"id": 7}, {"id": 9}]}
        truth.createIndex()
        for task in DETECTORS:
            annotations = json.loads(json.dumps(result(task).to_coco(5)))
            loaded = truth.loadRes(annotations)
            assert [each["category_id"] for each in loaded.loadAnns(loaded.getAnnIds())] == [7, 9]
        assert result("Detection").to_coco(5)[0]["bbox"] == [1, 2, 29.5, 38]
        pasted = result("InstanceSegmentation").image_masks(*SIZE)
        for each, mask in zip(result("InstanceSegmentation").to_coco(5), pasted, strict=True):
            np.testing.assert_array_equal(decoded(each["segmentation"]), mask)

    @pytest.mark.parametrize("task", DETECTORS)
    def test_what_coco_has_no_place_for_is_left_out(self, task: str) -> None:
        background, broken = np.array([[0, 2, -1]]), BOXES.copy()
        broken[0, 1, 0] = np.nan
        assert [each["category_id"] for each in result(task, labels=background).to_coco(1)] == [9]
        assert [each["category_id"] for each in result(task, boxes=broken).to_coco(1)] == [7]
        assert result(task, boxes=broken).to_dict()["objects"][1]["box"][0] is None

    @pytest.mark.parametrize("task", DETECTORS)
    def test_nothing_found(self, task: str) -> None:
        found = result(task, detections=0)
        assert (found.to_dict(), found.to_coco(1), found.rows(), list(found)) == ({"objects": []}, [], [], [])
        assert found.filter(score=0.5, classes="cat") == found
        assert repr(found) == f"<{type(found).__name__}: no objects>"

    def test_words(self) -> None:
        assert repr(result("Detection")) == "<DetectionResult: 2 objects: cat, dog; best score 0.90>"

    def test_words_of_many(self) -> None:
        many = DetectionResult(np.zeros((7, 4)), np.linspace(1, 0, 7), np.array([1, 2, 1, 3, 4, 5, 6]))
        assert repr(many) == "<DetectionResult: 7 objects: 1 (2), 2, 3, 4 and 2 more; best score 1.00>"

    def test_made_by_hand(self) -> None:
        by_hand = DetectionResult(BOXES[0], np.ones(3), np.array([1, 1, 2]))
        assert (by_hand.names, by_hand[0].name, len(by_hand.filter(classes=1))) == ({}, "1", 2)
        assert by_hand.to_dict()["objects"][0]["class"] == "1"
        with pytest.raises(InputError, match="has no names of classes; give the model's own ids"):
            by_hand.filter(classes="cat")
        with pytest.raises(InputError, match="built by hand has no categories"):
            by_hand.to_coco(1)
        with pytest.raises(InputError, match="built by hand has no task"):
            by_hand.draw(np.zeros((*SIZE, 3), np.uint8))


class TestOthers:
    def test_segments(self) -> None:
        found = result("SemanticSegmentation")
        assert [(each.name, each.label, int(each.mask.sum())) for each in found] == [
            ("background", 0, 2048),
            ("cat", 1, 2048),
            ("dog", 2, 2048),
        ]
        assert found.rows()[1] == {"class": "cat", "label": 1, "pixels": 2048, "share": pytest.approx(1 / 3)}
        first, second = found.to_coco(3)
        assert (first["category_id"], second["category_id"]) == (7, 9)
        np.testing.assert_array_equal(decoded(second["segmentation"]), LABEL_MAP == 2)
        assert found.to_dict()["segments"][2]["mask"] == second["segmentation"]
        assert repr(found) == "<SegmentationResult: 96x64 pixels: 33% background, 33% cat, 33% dog>"

    def test_ranked_classes(self) -> None:
        found = result("ImageClassification")
        assert [each.name for each in found] == ["dog", "cat", "background"]
        assert found.to_dict()["classes"][0] == {"class": "dog", "score": pytest.approx(0.7), "label": 2}
        assert [each.name for each in found.filter(score=0.15, classes=["cat", "background"])] == ["cat"]
        assert repr(found[:1]) == "<ClassificationResult: dog 0.70>"

    def test_a_larger_image(self) -> None:
        assert result("SuperResolution").to_dict() == {"size": [128, 192]}
        assert repr(result("SuperResolution")) == "<SuperResolutionResult: an image of 192x128 pixels>"

    @pytest.mark.parametrize(
        ("task", "form"),
        [
            ("SuperResolution", lambda found: found.to_coco(1)),
            ("SuperResolution", lambda found: found.to_supervision()),
            ("SuperResolution", lambda found: found.filter(score=0.5)),
            ("SemanticSegmentation", lambda found: found.filter(classes="cat")),
            ("ImageClassification", lambda found: found.to_coco(1)),
        ],
    )
    def test_what_has_no_meaning_says_so(self, task: str, form: Any) -> None:
        found = result(task)
        with pytest.raises(InputError, match=f"task {found.task.name} has no .*; use the result's arrays, or .to_dict"):
            form(found)


@pytest.mark.parametrize("task", TASKS)
def test_plain_types_columns_and_drawing(task: str) -> None:
    found = result(task)
    json.dumps(found.to_dict(), allow_nan=False)
    assert all(set(row) == set(found.columns) for row in found.rows())
    image = np.full((*SIZE, 3), 90, np.uint8)
    np.testing.assert_array_equal(found.draw(image), found.task.draw(image, found))
    assert found == result(task)
    assert isinstance(found, Result)


@pytest.mark.parametrize("task", [task for task in TASKS if task != "SuperResolution"])
def test_supervision(task: str) -> None:
    supervision = pytest.importorskip("supervision", reason="extra [supervision] is not installed")
    found = result(task)
    theirs = found.to_supervision()
    assert type(theirs).__module__.startswith(supervision.__name__)
    assert theirs.class_id.tolist() == [each.label for each in found]
    if task != "ImageClassification":
        assert theirs.data["class_name"].tolist() == [each.name for each in found]
    if task == "KeypointDetection":
        np.testing.assert_array_equal(theirs.detection_confidence, found.scores)
    if task == "SemanticSegmentation":
        widths, heights = (theirs.xyxy[:, 2:] - theirs.xyxy[:, :2]).T
        used = theirs.mask.any(axis=1).sum(axis=1), theirs.mask.any(axis=2).sum(axis=1)
        assert (widths >= used[0]).all()
        assert (heights >= used[1]).all()


def test_without_supervision_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(
        BackendUnavailableError, match=r'^supervision is not installed, .*: pip install "zooport\[superv'
    ):
        result("Detection").to_supervision()


@given(arrays(np.bool_, st.tuples(st.integers(1, 40), st.integers(1, 40))))
def test_run_lengths_are_those_of_pycocotools(mask: np.ndarray) -> None:
    theirs = pycocotools_mask.encode(np.asfortranarray(mask, np.uint8))
    assert run_lengths(mask) == {"size": list(theirs["size"]), "counts": theirs["counts"].decode()}


@pytest.mark.parametrize("fill", [False, True])
def test_run_lengths_of_a_large_mask(fill: bool) -> None:
    mask = np.full((1500, 2000), fill)
    mask[3:900, 5:1500:7] = not fill
    assert decoded(run_lengths(mask)).tolist() == mask.tolist()
