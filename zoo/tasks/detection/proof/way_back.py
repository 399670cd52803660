"""The way of boxes from the tensor back to the image, with boxes over all edges: most images have none there."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zoo.comparison import Findings
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks.detection.proof.in_image import detections_in_image
from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.task import Task

BEYOND = 7.0  # pixels of the tensor


def way_back_findings(task: Task, geometry: Geometry, placed: ReferenceInput, gate: float) -> Findings:
    """Boxes inside the tensor, over each of its edges and over all, as the deployment and the reference map them.

    ``gate``: pixels of the image. ``task``: one whose results are boxes, and no more.
    """
    boxes = edge_boxes(*placed.tensor.shape[2:])
    count = len(boxes)
    scores, labels = np.linspace(0.9, 0.5, count, dtype=np.float32), np.arange(count, dtype=np.int64)
    outputs: dict[str, NDArray[Any]] = {
        "num_dets": np.array([count]),
        "boxes": boxes[None],
        "scores": scores[None],
        "labels": labels[None],
    }
    (result,) = task.results(outputs, [geometry])
    assert isinstance(result, DetectionResult)
    columns = {"boxes": boxes, "scores": scores, "labels": labels}
    expected = detections_in_image({name: torch.from_numpy(array) for name, array in columns.items()}, placed)
    same = len(result) == count and np.array_equal(result.scores, scores) and np.array_equal(result.labels, labels)
    if not same:
        return Findings.broken((f"{count} boxes become {len(result)}, or change their score or label",))
    error = np.abs(result.boxes - expected.boxes).max(axis=1)
    worst = int(error.argmax())
    if error[worst] <= gate:
        return Findings(blank=True)
    box, theirs, ours = (", ".join(f"{v:.1f}" for v in b[worst]) for b in (boxes, result.boxes, expected.boxes))
    return Findings.broken((f"box [{box}] of the tensor is [{theirs}] in the image, PyTorch has [{ours}]",))


def edge_boxes(height: int, width: int) -> NDArray[np.float32]:
    """[6, 4]: inside, over the left, top, right and bottom edge of the tensor, and over all of them."""
    inside = np.array((width / 4, height / 4, width / 2, height / 2))
    boxes = [inside]
    for side, place in enumerate((-BEYOND, -BEYOND, width + BEYOND, height + BEYOND)):
        boxes.append(np.where(np.arange(4) == side, place, inside))
    boxes.append(np.array((-BEYOND, -BEYOND, width + BEYOND, height + BEYOND)))
    return np.stack(boxes).astype(np.float32)
