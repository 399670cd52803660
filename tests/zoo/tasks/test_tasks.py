"""Tasks: built from configs, output contract, results, drawing."""

from typing import Any

import numpy as np
import pytest

from zoo.errors import InputError
from zoo.preprocess import Geometry
from zoo.tasks import ClassInfo, build_task, known_tasks
from zoo.tasks.detection import Detection, DetectionResult
from zoo.tasks.drawing import color
from zoo.tasks.instance_segmentation import InstanceSegmentation, InstanceSegmentationResult
from zoo.tasks.keypoint_detection import KeypointDetection, KeypointResult
from zoo.tasks.semantic_segmentation import SegmentationResult, SemanticSegmentation

CLASSES = [{"name": "background", "category_id": None}, {"name": "zero", "category_id": 1}]
IMAGE = np.random.default_rng(0).integers(0, 256, (60, 90, 3)).astype(np.uint8)


def shown(specs: Any) -> list[str]:
    return [str(spec) for spec in specs]


def test_tasks_are_found_by_class_and_by_name() -> None:
    for task in (
        build_task({"type": "Detection", "classes": CLASSES}),
        build_task({"type": "detection", "classes": [ClassInfo("background", None), ClassInfo("zero", 1)]}),
    ):
        assert isinstance(task, Detection)
        assert task.classes == (ClassInfo("background", None), ClassInfo("zero", 1))
    names = [
        "detection",
        "detection3d",
        "image-classification",
        "instance-masks",
        "instance-segmentation",
        "keypoint-detection",
        "rotated-detection",
        "semantic-segmentation",
        "super-resolution",
        "tensors",
    ]
    assert list(known_tasks()) == names
    coco = ["CocoMaskAP", "CocoMaskAP", "CocoKeypointAP"]
    metrics = ["CocoBoxAP", "KittiAP", "Accuracy", *coco, "DotaMAP", "MeanIoU", "ImageQuality", None]
    assert [task.metric for task in known_tasks().values()] == metrics


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"classes": CLASSES}, "task: no type; give one of Detection"),
        ({"type": "Detecton", "classes": CLASSES}, 'unknown task "Detecton"; nearest: "Detection"'),
        ({"type": "Detection", "clases": CLASSES}, 'task Detection: unknown key "clases"; nearest: "classes"'),
        ({"type": "Detection", "image_masks": True}, 'task Detection: unknown key "image_masks"'),
        ({"type": "InstanceSegmentation", "image_mask": True}, 'unknown key "image_mask"; nearest: "image_masks"'),
        (
            {"type": "InstanceSegmentation", "classes": CLASSES, "image_masks": 1},
            "task InstanceSegmentation: image_masks: got 1, expected True or False",
        ),
        ({"type": "Detection"}, "task detection: no classes; list them all"),
        ({"type": "SuperResolution", "classes": CLASSES}, "task super-resolution: got 2 classes, but it has none"),
        ({"type": "Detection", "classes": [{"nam": "x"}]}, 'class: unknown key "nam"; nearest: "name"'),
        ({"type": "Detection", "classes": [{"name": 5}]}, "class: got name 5 and category_id None, expected a string"),
        ({"type": "Detection", "classes": [{"name": "x", "category_id": "1"}]}, "category_id '1'"),
    ],
)
def test_wrong_configs(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        build_task(fields)


def test_the_output_contract() -> None:
    detection, segmentation = Detection(CLASSES), SemanticSegmentation(CLASSES)
    assert shown(detection.outputs("final")) == [
        "num_dets int64 [N]",
        "boxes float32 [N, K, 4]",
        "scores float32 [N, K]",
        "labels int64 [N, K]",
    ]
    assert shown(detection.outputs("decoded")) == ["boxes float32 [N, P, 2, 4]", "scores float32 [N, P, 2]"]
    assert shown(segmentation.outputs()) == ["label_map uint8 [N, H, W]"]
    assert shown(segmentation.outputs("decoded")) == ["logits float32 [N, 2, H, W]"]
    assert detection.outputs("raw") == segmentation.outputs("raw") == ()
    instances, keypoints = InstanceSegmentation(CLASSES), KeypointDetection(CLASSES)
    assert instances.outputs()[:4] == keypoints.outputs()[:4] == detection.outputs()
    assert shown(instances.outputs()[4:]) == ["masks float32 [N, K, 28, 28]"]
    assert shown(keypoints.outputs()[4:]) == ["keypoints float32 [N, K, P, 3]"]
    assert instances.outputs("decoded") == detection.outputs("decoded")
    many = SemanticSegmentation([{"name": str(index), "category_id": index} for index in range(257)])
    assert shown(many.outputs()) == ["label_map int32 [N, H, W]"]
    assert shown(SemanticSegmentation(many.classes[:256]).outputs()) == ["label_map uint8 [N, H, W]"]
    with pytest.raises(InputError, match='unknown output level "finale"; nearest: "final"'):
        detection.outputs("finale")


def test_pasted_masks_are_an_output_on_request() -> None:
    plain, asked = (
        build_task({"type": "InstanceSegmentation", "classes": CLASSES, **options})
        for options in ({"image_masks": False}, {"image_masks": True})
    )
    assert (plain.options, asked.options) == ({}, {"image_masks": True})
    assert plain.outputs() == InstanceSegmentation(CLASSES).outputs()
    assert shown(asked.outputs()[4:]) == ["masks float32 [N, K, 28, 28]", "image_masks uint8 [N, K, H, W]"]
    assert [asked.outputs(level) for level in ("decoded", "raw")] == [plain.outputs("decoded"), ()]
    again = build_task({"type": asked.name, "classes": asked.classes, **asked.options})
    assert again.outputs() == asked.outputs()
    outputs = padded()
    pasted = outputs | {"image_masks": np.ones((3, 3, 64, 64), np.uint8)}
    assert asked.results(pasted, GEOMETRIES) == plain.results(outputs, GEOMETRIES)


GEOMETRIES = [Geometry((100, 200), (32, 64), (64, 64)), Geometry((64, 64), (64, 64), (64, 64))]


def padded() -> dict[str, np.ndarray]:
    """A batch of three, the last of which is filling; two detections in the first, none in the second."""
    return {
        "num_dets": np.array([2, 0, 1]),
        "boxes": np.array([[[0, 0, 10, 10], [5, 5, 64, 64], [9, 9, 9, 9]]] * 3, np.float32),
        "scores": np.array([[0.9, 0.8, 0.7]] * 3, np.float32),
        "labels": np.array([[1, 1, 1]] * 3),
        "masks": np.full((3, 3, 28, 28), 0.9, np.float32),
        "keypoints": np.array([[[[8, 16, -3], [64, 32, 5]]] * 3] * 3, np.float32),
    }


def test_detections_in_the_images_coordinates() -> None:
    outputs = padded()
    first, second = Detection(CLASSES).results(outputs, GEOMETRIES)
    assert isinstance(first, DetectionResult)
    np.testing.assert_allclose(first.boxes, [[0, 0, 31.25, 31.25], [15.625, 15.625, 200, 100]])
    assert len(second) == 0
    outputs["scores"][:] = 0
    assert first.scores.tolist() == pytest.approx([0.9, 0.8])


def test_the_box_of_a_mask_is_not_cut_off_at_the_image() -> None:
    """The mask fills the whole box; a smaller box would squeeze it."""
    outputs = padded()
    first, second = InstanceSegmentation(CLASSES).results(outputs, GEOMETRIES)
    assert isinstance(first, InstanceSegmentationResult)
    np.testing.assert_allclose(first.boxes, [[0, 0, 31.25, 31.25], [15.625, 15.625, 200, 200]])
    assert len(second) == 0
    outputs["masks"][:] = 0
    assert first.masks.shape == (2, 28, 28)
    assert first.image_masks(100, 200)[1, 90, 150]


def test_keypoints_in_the_images_coordinates() -> None:
    outputs = padded()
    first, second = KeypointDetection(CLASSES).results(outputs, GEOMETRIES)
    assert isinstance(first, KeypointResult)
    np.testing.assert_allclose(first.boxes[1], [15.625, 15.625, 200, 100])
    np.testing.assert_allclose(first.keypoints, [[[25, 50, -3], [200, 100, 5]]] * 2)
    assert isinstance(second, KeypointResult)
    assert second.keypoints.shape == (0, 2, 3)


def test_label_maps_in_the_images_size() -> None:
    outputs = {"label_map": np.ones((2, 64, 64), np.uint8)}
    (result,) = SemanticSegmentation(CLASSES).results(outputs, [Geometry((100, 200), (32, 64), (64, 64))])
    assert isinstance(result, SegmentationResult)
    assert result.label_map.shape == (100, 200)


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        (Detection(CLASSES), {"boxes": np.zeros((1, 5, 2, 4)), "scores": np.zeros((1, 5, 2))}),
        (SemanticSegmentation(CLASSES), {"logits": np.zeros((1, 2, 9, 9))}),
    ],
)
def test_only_final_outputs_have_results(task: Any, outputs: dict[str, np.ndarray]) -> None:
    with pytest.raises(InputError, match=r'only output level "final" has results: .*use \.runner\.run'):
        task.results(outputs, [])


def test_drawn_detections() -> None:
    task = Detection(CLASSES)
    before = IMAGE.copy()
    result = DetectionResult(np.array([[-5, -5, 40, 30], [50, 20, 95, 65.0]]), np.array([0.9, 0.4]), np.array([1, 7]))
    drawn = task.draw(IMAGE, result)
    assert drawn.shape == IMAGE.shape
    assert (drawn == np.array(color(1))).all(axis=2).sum() > 50
    assert (drawn == np.array(color(7))).all(axis=2).sum() > 50, "an id past the classes is drawn, too"
    np.testing.assert_array_equal(drawn, task.draw(IMAGE, result))
    np.testing.assert_array_equal(IMAGE, before)
    np.testing.assert_array_equal(task.draw(IMAGE, result[:0]), IMAGE)


def test_drawn_instances() -> None:
    task = InstanceSegmentation(CLASSES)
    before = IMAGE.copy()
    masks = np.stack([np.tri(28, dtype=np.float32), np.zeros((28, 28), np.float32)])
    result = InstanceSegmentationResult(
        np.array([[5, 25, 40, 58], [50, 20, 80, 55.0]]), np.array([0.9, 0.4]), np.array([1, 7]), masks
    )
    drawn = task.draw(IMAGE, result)
    changed = (drawn != IMAGE).any(axis=2)
    assert changed[50, 10]
    assert not changed[30, 35], "the mask is zero above its diagonal"
    assert not changed[40, 65], "an empty mask leaves the inside of its box"
    np.testing.assert_array_equal(drawn, task.draw(IMAGE, result))
    np.testing.assert_array_equal(IMAGE, before)


def test_drawn_keypoints() -> None:
    task = KeypointDetection(CLASSES)
    points = np.array([[[20, 40, 1.0], [500, 500, 1.0]]])
    result = KeypointResult(np.array([[5, 25, 40, 58.0]]), np.array([0.9]), np.array([1]), points)
    drawn = task.draw(IMAGE, result)
    assert drawn[40, 20].tolist() == list(color(0))
    np.testing.assert_array_equal(drawn, task.draw(IMAGE, result))


def test_drawn_label_maps() -> None:
    task = SemanticSegmentation(CLASSES)
    label_map = np.zeros((60, 90), np.uint8)
    label_map[10:50, 20:80] = 1
    drawn = task.draw(IMAGE, SegmentationResult(label_map))
    np.testing.assert_array_equal(drawn[label_map == 0], IMAGE[label_map == 0])
    assert (drawn[12, 22:78] != IMAGE[12, 22:78]).any()
    np.testing.assert_array_equal(drawn, task.draw(IMAGE, SegmentationResult(label_map)))


def test_results_of_another_task_are_not_drawn() -> None:
    segmented = SegmentationResult(np.zeros((60, 90), np.uint8))
    with pytest.raises(InputError, match="detection cannot draw a SegmentationResult"):
        Detection(CLASSES).draw(IMAGE, segmented)
    boxes = DetectionResult(np.zeros((0, 4)), np.zeros(0), np.zeros(0))
    for task in (SemanticSegmentation(CLASSES), InstanceSegmentation(CLASSES), KeypointDetection(CLASSES)):
        with pytest.raises(InputError, match=f"{task.name} cannot draw a DetectionResult"):
            task.draw(IMAGE, boxes)


def test_colors_are_fixed_and_unlike() -> None:
    assert color(0) == (38, 38, 255)
    assert len({color(label) for label in range(80)}) == 80
