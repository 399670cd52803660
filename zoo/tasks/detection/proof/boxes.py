"""One detection as text."""

from zoo.tasks.detection.result import DetectionResult


def format_detection(detections: DetectionResult, index: int, *, score_digits: int = 4, box_digits: int = 1) -> str:
    """Label, score and box of one detection."""
    box = detections.form.text(detections.boxes[index], box_digits)
    return f"label {detections.labels[index]}, score {detections.scores[index]:.{score_digits}f}, box [{box}]"
