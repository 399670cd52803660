"""The way of masks from the tensor back to the image, with masks that no model made."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zoo.comparison import Findings
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks.detection.proof.in_image import detections_in_image
from zoo.tasks.instance_masks.result import InstanceMasksResult
from zoo.tasks.instance_masks.task import boxes_in_tensor
from zoo.tasks.semantic_segmentation.proof.nearest import nearest_pixels
from zoo.tasks.task import Task

CELL = 4  # pixels of the tensor


def way_back_findings(task: Task, geometry: Geometry, placed: ReferenceInput, gate: float) -> Findings:
    """A mask at random, one at the top left and one at the bottom right, as the deployment and the reference map them.

    ``gate``: of boxes, in pixels of the image.
    """
    height, width = placed.tensor.shape[2:]
    masks = _masks(-(-height // CELL), -(-width // CELL))
    count = len(masks)
    scores, labels = np.linspace(0.9, 0.5, count, dtype=np.float32), np.zeros(count, np.int64)
    outputs: dict[str, NDArray[Any]] = {
        "num_dets": np.array([count]),
        "scores": scores[None],
        "labels": labels[None],
        "masks": masks[None],
    }
    (result,) = task.results(outputs, [geometry])
    assert isinstance(result, InstanceMasksResult)
    boxes = boxes_in_tensor(masks != 0, (height, width))
    columns = {"boxes": boxes, "scores": scores, "labels": labels}
    expected = detections_in_image({name: torch.from_numpy(array) for name, array in columns.items()}, placed)
    if float(np.abs(result.boxes - expected.boxes).max()) > gate:
        return Findings.broken(("the box of a mask is elsewhere in the image than PyTorch has it",))
    wrong = ~_matches(result.image_masks(*placed.image), masks, placed)
    if wrong.any():
        return Findings.broken((f"{int(wrong.sum())} of {wrong.size} pixels of masks are mapped wrongly to the image",))
    return Findings(blank=True)


def _masks(rows: int, columns: int) -> NDArray[np.uint8]:
    """uint8 [3, rows, columns]."""
    masks = np.zeros((3, rows, columns), np.uint8)
    masks[0] = np.random.default_rng(0).integers(0, 2, (rows, columns))
    masks[1, : rows // 2, : columns // 2] = 1
    masks[2, rows // 2 :, columns // 2 :] = 1
    return masks


def _matches(in_image: NDArray[np.bool_], masks: NDArray[Any], placed: ReferenceInput) -> NDArray[np.bool_]:
    """Whether each pixel has the value of a cell at its nearest pixel of the tensor; of two, either is right."""
    height, width = placed.tensor.shape[2:]
    matches = np.zeros(in_image.shape, np.bool_)
    rows, columns = nearest_pixels(placed)
    for y in rows:
        for x in columns:
            cells = np.ix_(y * masks.shape[1] // height, x * masks.shape[2] // width)
            matches |= in_image == (masks[:, cells[0], cells[1]] != 0)
    return matches
