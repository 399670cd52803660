"""What images exercise of a model is counted while it runs, and the model is left as it was."""

import pytest
import torch

from tests.rewriters.small_families import sample_images, small
from tests.rewriters.small_models import CLASSES, small_segmentor
from tests.rewriters.small_pillars import NAMES, random_clouds, small_pillars
from tests.rewriters.small_rotated_fcos import SIZE, small_rotated_fcos
from tests.rewriters.small_yolov5 import scenes, small_yolov5
from zoo.contract.coverage import Usage
from zoo.families import family_of


def counted(model: torch.nn.Module, inputs: torch.Tensor | list[torch.Tensor]) -> Usage:
    usage = Usage()
    before = {name: dict(module.__dict__) for name, module in model.named_modules()}
    with family_of(model).coverage(model, usage), torch.inference_mode():
        model(inputs)
    assert {name: dict(module.__dict__) for name, module in model.named_modules()} == before
    return usage


@pytest.mark.parametrize("family", ["faster_rcnn", "retina_net", "fcos"])
def test_what_thresholds_remove_and_leave_is_what_the_model_finds(family: str) -> None:
    model, images = small(family), sample_images(2)
    with torch.inference_mode():
        found = model(list(images))
    usage = Usage()
    with family_of(model).coverage(model, usage), torch.inference_mode():
        model(list(images))
    counts = usage.counts
    assert counts["images", "with detections"] + counts["images", "without detections"] == 2
    assert counts["images", "with detections"] == sum(len(one["scores"]) > 0 for one in found)
    removed = sum(count for (what, part), count in counts.items() if what == "detections")
    pooled = sum(count for (what, _), count in counts.items() if what == "boxes that box_roi_pool pools")
    chosen = sum(
        count for (what, part), count in counts.items() if what == "candidates" and part.startswith("of level")
    )
    candidates = pooled * (CLASSES - 1) if family == "faster_rcnn" else chosen
    assert candidates - removed == sum(len(one["scores"]) for one in found) > 0


def test_levels_of_boxes_and_anchors_of_a_two_stage_detector() -> None:
    model = small("faster_rcnn")
    usage = Usage()
    with family_of(model).coverage(model, usage), torch.inference_mode():
        proposals: list[int] = []
        hook = model.rpn.register_forward_hook(lambda _m, _a, output: proposals.extend(map(len, output[0])))
        model(list(sample_images(2)))
        hook.remove()
    pooled = {part: count for (what, part), count in usage.counts.items() if what == "boxes that box_roi_pool pools"}
    assert list(pooled) == [f"from level {level}" for level in range(4)]
    assert sum(pooled.values()) == sum(proposals)
    anchors = [count for (what, _), count in usage.counts.items() if what == "anchors that became proposals"]
    assert len(anchors) == 5
    assert sum(anchors) == sum(proposals)
    assert ("boxes that box_roi_pool pools", "from level 3") in usage.unused  # 64 x 96 pixels have no such box


def test_levels_of_yolov5() -> None:
    counts = counted(small_yolov5(), scenes(2, 64, 96)).counts
    assert [part for what, part in counts if what == "candidates"][:3] == [
        "of stride 8",
        "of stride 16",
        "of stride 32",
    ]
    assert counts["images", "with detections"] == 2


def test_levels_and_thresholds_of_a_rotated_fcos() -> None:
    model, image = small_rotated_fcos(topk_candidates=20), scenes(1, *SIZE)
    with torch.inference_mode():
        (detections,) = model(image)
    counts = counted(model, image).counts
    candidates = [counts["candidates", f"of level {level}"] for level in range(4)]
    assert max(candidates) == 20  # of a level
    assert counts["candidates", "removed by the largest number of a level"] > 0
    pairs = sum(SIZE[0] * SIZE[1] // stride**2 for stride in (8, 16, 32)) + 2  # and the pooled level
    assert sum(count for (what, _), count in counts.items() if what == "candidates") == 3 * pairs
    removed = counts["detections", "removed by NMS, or by their largest number"]
    assert sum(candidates) - removed == len(detections["scores"]) > 0
    assert (counts["images", "with detections"], counts["images", "without detections"]) == (1, 0)


@pytest.mark.parametrize("name", NAMES)
def test_points_and_thresholds_of_a_detector_on_pillars(name: str) -> None:
    model = small_pillars(name, topk_candidates=10)
    clouds = [*random_clouds(1, 200, 3), torch.zeros(0, 4)]
    with torch.inference_mode():
        detections = sum(len(one["scores"]) for one in model(clouds))
        inside = int(model.encoder.grid.places(clouds[0])[2].sum())
    counts = counted(model, clouds).counts
    assert counts["points", "in a pillar"] == inside > 0
    assert counts["points", "outside of the grid"] == 200 - inside > 0
    below, beyond = (
        counts["candidates", f"removed by {what}"] for what in ("the score threshold", "their largest number")
    )
    assert beyond > 0
    every = 2 * 8 * 8 * (6 if name == "PointPillars" else 3)  # anchors, or pairs of cell and class
    assert every - below - beyond - counts["detections", "removed by NMS, or by their largest number"] == detections > 0
    assert counts["clouds", "with detections"] + counts["clouds", "without detections"] == 2


def test_classes_and_windows_of_a_segmentor() -> None:
    images = sample_images(1)
    usage = counted(small_segmentor("slide", crop_size=(48, 64), stride=(16, 32)), images)
    assert sum(count for (what, _), count in usage.counts.items() if what == "pixels") == 64 * 96
    assert usage.counts["windows", "of slide inference"] == 4
