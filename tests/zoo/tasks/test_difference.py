"""Differences drawn and described: where nothing differs there is no image."""

import numpy as np

from pipeline.parity.gates import merged_gates
from zoo.tasks import build_task
from zoo.tasks.detection import DetectionResult
from zoo.tasks.highlight import CANDIDATE, CHANGED, REFERENCE
from zoo.tasks.instance_segmentation import InstanceSegmentationResult
from zoo.tasks.proof import proof_of
from zoo.tasks.semantic_segmentation import SegmentationResult
from zoo.tasks.super_resolution import SuperResolutionResult

CLASSES = [{"name": f"class {i}", "category_id": i} for i in range(4)]
DETECTION = build_task({"type": "Detection", "classes": CLASSES})
MASKS = build_task({"type": "InstanceSegmentation", "classes": CLASSES})
SEGMENTATION = build_task({"type": "SemanticSegmentation", "classes": CLASSES})
ENLARGED = build_task({"type": "SuperResolution"})
IMAGE = np.random.default_rng(0).integers(0, 256, (200, 300, 3)).astype(np.uint8)
GATES = merged_gates()["pipeline"]
ONE, OTHER = [20, 40, 90, 120], [180, 60, 280, 180]


def found(*boxes: list[int]) -> DetectionResult:
    return DetectionResult(
        np.array(boxes, np.float32).reshape(-1, 4), np.full(len(boxes), 0.9), np.ones(len(boxes), np.int64)
    )


def has(image: np.ndarray, color: tuple[int, int, int]) -> bool:
    return bool((image == np.array(color)).all(axis=2).any())


def test_what_both_found_is_grey() -> None:
    drawn = proof_of(DETECTION).difference(IMAGE, found(ONE, OTHER), found(OTHER, ONE), GATES)
    assert drawn.words == "2 objects found by both, 0 only by PyTorch, 0 only by the backend"
    assert (np.ptp(drawn.image.astype(int), axis=2) == 0).all()
    assert drawn.image.shape == IMAGE.shape


def test_what_one_side_alone_found_has_its_colour() -> None:
    drawn = proof_of(DETECTION).difference(IMAGE, found(ONE, OTHER), found(OTHER), GATES)
    assert drawn.words == "1 object found by both, 1 only by PyTorch, 0 only by the backend"
    assert has(drawn.image, REFERENCE)
    assert not has(drawn.image, CANDIDATE)
    drawn = proof_of(DETECTION).difference(IMAGE, found(OTHER), found(OTHER, ONE), GATES)
    assert has(drawn.image, CANDIDATE)
    assert not has(drawn.image, REFERENCE)


def test_no_detections_at_all() -> None:
    drawn = proof_of(DETECTION).difference(IMAGE, found(), found(), GATES)
    assert drawn == (None, "neither side found an object")


def test_masks_of_a_pair() -> None:
    def masked(value: float) -> InstanceSegmentationResult:
        masks = np.zeros((1, 28, 28), np.float32)
        masks[:, :14] = 1.0
        masks[:, 14:20] = value
        return InstanceSegmentationResult(np.array([ONE], np.float32), np.array([0.9]), np.array([1]), masks)

    same = proof_of(MASKS).difference(IMAGE, masked(0.6), masked(0.6), GATES)
    assert same.words.endswith("masks differ in 0 pixels")
    other = proof_of(MASKS).difference(IMAGE, masked(0.6), masked(0.4), GATES)
    assert not other.words.endswith("masks differ in 0 pixels")
    assert has(other.image, CHANGED)


def test_label_maps() -> None:
    labels = np.zeros((200, 300), np.uint8)
    other = labels.copy()
    other[5, 7] = other[100, 200] = 3
    same = proof_of(SEGMENTATION).difference(IMAGE, SegmentationResult(labels), SegmentationResult(labels), GATES)
    assert same == (None, "all 60000 pixels have the same class")
    drawn = proof_of(SEGMENTATION).difference(IMAGE, SegmentationResult(labels), SegmentationResult(other), GATES)
    assert drawn.words == "2 of 60000 pixels have another class"
    assert drawn.image[5, 7].tolist() == list(CHANGED)


def test_enlarged_images() -> None:
    one = SuperResolutionResult(IMAGE)
    assert proof_of(ENLARGED).difference(IMAGE, one, one, GATES) == (None, "all pixels are equal")
    cut = SuperResolutionResult(IMAGE[:-1])
    assert proof_of(ENLARGED).difference(IMAGE, one, cut, GATES).image.any()  # no black image either
    moved = IMAGE.copy()
    moved[3, 4, 1] = moved[3, 4, 1] // 2 + 60 if moved[3, 4, 1] < 100 else moved[3, 4, 1] - 3
    drawn = proof_of(ENLARGED).difference(IMAGE, one, SuperResolutionResult(moved), GATES)
    assert drawn.words.startswith("1 of 60000 pixels differ, by ")
    assert drawn.image[3, 4].sum() > drawn.image[0, 0].sum()
