"""The way of rotated boxes from the tensor back to the image, with boxes over all edges and of all directions."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zoo.comparison import Findings
from zoo.geometry.rotated_boxes import ROTATED, is_in_convention
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks.rotated_detection.proof.in_image import detections_in_image
from zoo.tasks.rotated_detection.task import RotatedDetection

ANGLES = np.radians((-90.0, -60, -45, -10, 0, 20, 45, 70, 90, 130))
LONGER = 1.5  # times the other side


def way_back_findings(
    task: RotatedDetection, geometry: Geometry, placed: ReferenceInput, gate: float
) -> Findings | None:
    """Boxes inside the tensor and over its edges, as the deployment and the reference map them.

    ``gate``: pixels of the image.
    """
    boxes = boxes_of_all_angles(*placed.tensor.shape[2:])
    count = len(boxes)
    scores, labels = np.linspace(0.9, 0.5, count, dtype=np.float32), np.arange(count, dtype=np.int64)
    outputs: dict[str, NDArray[Any]] = {
        "num_dets": np.array([count]),
        "boxes": boxes[None],
        "scores": scores[None],
        "labels": labels[None],
    }
    (result,) = task.results(outputs, [geometry])
    columns = {"boxes": boxes, "scores": scores, "labels": labels}
    expected = detections_in_image(
        {name: torch.from_numpy(array) for name, array in columns.items()}, placed, task.angle
    )
    found: Any = result
    if not (np.array_equal(found.scores, scores) and np.array_equal(found.labels, labels)):
        return Findings.broken((f"{count} boxes become {len(found)}, or change their score or label",))
    if not is_in_convention(found.boxes, task.angle).all():
        return Findings.broken((f"boxes in the image are not in the convention {task.angle}",))
    error = np.diag(ROTATED.errors(found.boxes, expected.boxes)["boxes"])
    worst = int(error.argmax())
    if error[worst] <= gate:
        return Findings(blank=True)
    box, theirs, ours = (ROTATED.text(rows[worst], 1) for rows in (boxes, found.boxes, expected.boxes))
    return Findings.broken((f"box [{box}] of the tensor is [{theirs}] in the image, PyTorch has [{ours}]",))


def boxes_of_all_angles(height: int, width: int) -> NDArray[np.float32]:
    """float32 [n, 5]: of each direction one in the middle of the tensor, and one at each of its corners."""
    side = min(height, width) / 4
    centers = np.array(((0.5, 0.5), (0, 0), (1, 0), (1, 1), (0, 1))) * (width, height)
    rows = [
        (*center, *((side * LONGER, side) if number % 2 else (side, side * LONGER)), angle)
        for center in centers.tolist()
        for number, angle in enumerate(ANGLES)
    ]
    return np.array(rows, np.float32)
