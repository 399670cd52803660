"""Previews: two panels, titled, of a bounded size; detections of a low score are left out."""

from pathlib import Path

import numpy as np

from pipeline.previews import BAR, GAP, LONGEST_SIDE, side_by_side, write_preview
from pipeline.report import EMBEDDED_WIDTH, data_uri
from zoo.structures import DetectionResult
from zoo.tasks import build_task

TASK = build_task({"type": "Detection", "classes": [{"name": str(i), "category_id": i} for i in range(4)]})
IMAGE = np.full((60, 80, 3), 120, np.uint8)


def result(score: float) -> DetectionResult:
    return DetectionResult(
        np.array([[10, 20, 50, 50]], np.float32), np.array([score], np.float32), np.array([1], np.int64)
    )


def test_two_panels_side_by_side() -> None:
    picture = side_by_side(IMAGE, TASK, result(0.9), result(0.9), "onnxruntime")
    assert picture.shape == (60 + BAR, 2 * 80 + GAP, 3)
    left, right = picture[BAR:, :80], picture[BAR:, -80:]
    assert np.array_equal(left, right)
    assert not np.array_equal(left, IMAGE)
    assert not np.array_equal(picture[:BAR, :80], picture[:BAR, -80:])  # the titles differ


def test_an_output_level_without_results_has_one_panel() -> None:
    assert side_by_side(IMAGE, TASK, result(0.9), None, "onnxruntime").shape == (60 + BAR, 80, 3)


def test_low_scores_are_not_drawn() -> None:
    picture = side_by_side(IMAGE, TASK, result(0.2), result(0.2), "onnxruntime")
    assert np.array_equal(picture[BAR:, :80], IMAGE)


def test_a_large_picture_is_scaled_down(tmp_path: Path) -> None:
    large = np.zeros((3000, 4000, 3), np.uint8)
    picture = side_by_side(large, TASK, result(0.9), result(0.9), "onnxruntime")
    assert picture.shape == (LONGEST_SIDE * 3 // 4 + BAR, 2 * LONGEST_SIDE + GAP, 3)
    path = write_preview(tmp_path, 3, "a b/ü c.jpeg", picture)
    assert path == tmp_path / "previews" / "03-c.png"
    assert picture.shape[1] > EMBEDDED_WIDTH
    assert data_uri(picture).startswith("data:image/jpeg;base64,")
