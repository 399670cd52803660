"""Previews: PyTorch, the backend and their difference; titled files of a bounded size; no detections of a low score."""

from pathlib import Path

import numpy as np

from pipeline.inputs.named_input import NamedInput
from pipeline.parity.gates import merged_gates
from pipeline.proof.preview import BAR, GAP, Panel, second_of_two, side_by_side
from pipeline.proof.previews import LONGEST_SIDE, draw_panels, write_preview
from zoo.tasks import build_task
from zoo.tasks.detection import DetectionResult
from zoo.tasks.image_classification.proof.bars import draw_bars

TASK = build_task({"type": "Detection", "classes": [{"name": str(i), "category_id": i} for i in range(4)]})
IMAGE = np.full((60, 80, 3), 120, np.uint8)
GATES = merged_gates()["pipeline"]


def result(score: float) -> DetectionResult:
    return DetectionResult(
        np.array([[10, 20, 50, 50]], np.float32), np.array([score], np.float32), np.array([1], np.int64)
    )


def panels(image: np.ndarray, reference: DetectionResult, candidate: DetectionResult | None) -> tuple[Panel, ...]:
    return draw_panels(NamedInput("a.jpg", image), TASK, reference, candidate, "onnxruntime", GATES)


def test_three_panels_two_of_them_side_by_side_in_the_file() -> None:
    drawn = panels(IMAGE, result(0.9), result(0.9))
    assert [panel.title for panel in drawn] == ["PyTorch", "onnxruntime", "difference"]
    assert drawn[0].words == "1 object with a score of 0.3 or more"
    drawing = side_by_side(drawn[:2])
    assert drawing.shape == (60 + BAR, 2 * 80 + GAP, 3)
    left, right = drawing[BAR:, :80], drawing[BAR:, -80:]
    assert np.array_equal(left, right)
    assert not np.array_equal(left, IMAGE)
    assert not np.array_equal(drawing[:BAR, :80], drawing[:BAR, -80:])  # the titles differ
    assert np.array_equal(second_of_two(drawing), drawn[1].image)


def test_an_output_level_without_results_has_one_panel() -> None:
    (drawn,) = panels(IMAGE, result(0.9), None)
    assert side_by_side([drawn]).shape == (60 + BAR, 80, 3)


def test_panels_of_two_heights_are_padded() -> None:
    """A restored image of another size is a fault that may be allowed."""
    tall, low = (Panel("a", np.zeros((height, 80, 3), np.uint8), "") for height in (60, 20))
    drawing = side_by_side([tall, low])
    assert drawing.shape == (60 + BAR, 2 * 80 + GAP, 3)
    assert (drawing[-40:, -80:] == 255).all()


def test_bars_of_what_is_not_finite_are_drawn() -> None:
    assert draw_bars(IMAGE, [("a", np.nan, 0.5), ("b", np.inf, -1.0)]).shape[1] == 80


def test_low_scores_are_not_drawn() -> None:
    assert np.array_equal(panels(IMAGE, result(0.2), result(0.2))[0].image, IMAGE)


def test_what_is_not_finite_is_not_drawn() -> None:
    broken = DetectionResult(np.full((1, 4), np.nan), np.array([0.9]), np.array([1]))
    drawn = panels(IMAGE, result(0.9), broken)
    assert np.array_equal(drawn[1].image, IMAGE)
    assert drawn[2].words == "0 objects found by both, 1 only by PyTorch, 0 only by the backend"


def test_a_large_image_is_scaled_down(tmp_path: Path) -> None:
    drawn = panels(np.zeros((3000, 4000, 3), np.uint8), result(0.9), result(0.9))
    assert {panel.image.shape for panel in drawn} == {(LONGEST_SIDE * 3 // 4, LONGEST_SIDE, 3)}
    path = write_preview(tmp_path, 3, "a b/ü c.jpeg", side_by_side(drawn[:2]))
    assert path == tmp_path / "previews" / "03-c.png"
    assert write_preview(tmp_path, 4, f"{'x' * 251}.png", IMAGE).name == f"04-{'x' * 100}.png"
