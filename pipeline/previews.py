"""Pictures for people: what PyTorch found beside what the backend found."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from pipeline.job import Job
from pipeline.reference_run import ReferenceRun
from zoo.errors import InputError
from zoo.structures import DetectionResult, Result, SegmentationResult
from zoo.tasks import Task

FOLDER = "previews"
LONGEST_SIDE = 960  # of one panel, pixels; a larger picture is scaled down for the preview
GAP = 8
DRAWN_SCORE = 0.3
BAR = 28
PAPER, INK = 255, (32, 32, 32)

Image = NDArray[Any]


@dataclass(frozen=True)
class Preview:
    """``path`` inside the deployment's folder, ``picture`` uint8 BGR, ``text`` for those who do not see it."""

    path: Path
    picture: NDArray[np.uint8]
    text: str


def draw_previews(job: Job, reference: ReferenceRun, results: Sequence[Result | None], folder: Path) -> list[Preview]:
    """Draw and write one picture for each image of the job; ``results`` are the backend's."""
    previews = []
    for number, (image, expected, result) in enumerate(zip(job.images, reference.pipeline, results, strict=True), 1):
        picture = side_by_side(image.pixels, job.task, expected.result, result, job.target.backend)
        sides = "PyTorch (left)" + (f" and {job.target.backend} (right)" if result is not None else "")
        text = f"{image.name}: what {sides} found: {_words(expected.result, job.task)}"
        previews.append(Preview(write_preview(folder, number, image.name, picture), picture, text))
    return previews


def side_by_side(
    image: Image, task: Task, reference: Result, candidate: Result | None, backend: str
) -> NDArray[np.uint8]:
    """Two titled panels, uint8 BGR: PyTorch's result and the backend's, drawn on the image.

    Without a candidate (an output level that has no results) the first panel stands alone.
    """
    panels = [_titled(task.draw(image, _likely(reference)), "PyTorch")]
    if candidate is not None:
        panels.append(_titled(task.draw(image, _likely(candidate)), backend))
    gap = np.full((panels[0].shape[0], GAP, 3), PAPER, np.uint8)
    spaced = [part for panel in panels for part in (gap, panel)][1:]
    return np.hstack(spaced)


def write_preview(folder: Path, number: int, name: str, picture: NDArray[np.uint8]) -> Path:
    """Write ``previews/<number>-<name>.png`` into the folder; the number keeps files of one name apart."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(name).stem).strip("-") or "image"
    path = folder / FOLDER / f"{number:02d}-{stem}.png"
    path.parent.mkdir(exist_ok=True)
    written, data = cv2.imencode(".png", picture)
    if not written:
        raise InputError(f"{path}: OpenCV cannot encode the preview")
    path.write_bytes(data.tobytes())
    return path


def _likely(result: Result) -> Result:
    """Without the detections of a low score, which hide the others; parity compares them all."""
    return result[result.scores >= DRAWN_SCORE] if isinstance(result, DetectionResult) else result


def _words(result: Result, task: Task) -> str:
    likely = _likely(result)
    if isinstance(likely, DetectionResult):
        return f"{len(likely)} objects with a score of {DRAWN_SCORE} or more"
    if isinstance(likely, SegmentationResult):
        return f"classes {', '.join(task.class_name(int(label)) for label in np.unique(likely.label_map))}"
    return f"an image of {likely.image.shape[1]}x{likely.image.shape[0]} pixels"


def _titled(picture: Image, title: str) -> NDArray[np.uint8]:
    height, width = picture.shape[:2]
    scale = min(1.0, LONGEST_SIDE / max(height, width))
    if scale < 1.0:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    bar = np.full((BAR, picture.shape[1], 3), PAPER, np.uint8)
    cv2.putText(bar, title, (4, BAR - 9), cv2.FONT_HERSHEY_SIMPLEX, 0.55, INK, 1, cv2.LINE_AA)
    return np.vstack((bar, picture.astype(np.uint8)))
