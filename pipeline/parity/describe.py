"""Words for what was found."""

from zoo.structures import DetectionResult


def describe(side: DetectionResult, index: int) -> str:
    """Words for one detection."""
    box = ", ".join(f"{value:.1f}" for value in side.boxes[index])
    return f"label {side.labels[index]}, score {side.scores[index]:.4f}, box [{box}]"
