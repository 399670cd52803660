"""Images for people: what PyTorch found, what the backend found, and where they differ."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from pipeline.export.reference_run import ReferenceRun
from pipeline.inputs.named_input import NamedInput
from pipeline.job.job import Job
from pipeline.proof.preview import Panel, Preview, side_by_side
from pipeline.publishing.own_files import PREVIEWS
from zoo.errors import InputError
from zoo.tasks import Result, Task
from zoo.tasks.proof import proof_of

LONGEST_STEM = 100  # of a file's name, which disks bound
LONGEST_SIDE = 960  # of one panel, pixels; a larger image is scaled down for the preview

Image = NDArray[Any]


def draw_previews(job: Job, reference: ReferenceRun, results: Sequence[Result | None], folder: Path) -> list[Preview]:
    """Draw and write one preview for each image of the job; ``results`` are the backend's."""
    previews = []
    for number, (image, expected, result) in enumerate(zip(job.images, reference.pipeline, results, strict=True), 1):
        ours = expected.result
        if result is not None and type(result) is type(ours):
            ours = proof_of(job.task).aligned(expected.own, expected.placed, result)
        panels = draw_panels(image, job.task, ours, result, job.target.backend, job.gates["pipeline"])
        drawing = side_by_side(panels[:2])
        previews.append(Preview(write_preview(folder, number, image.name, drawing), image.name, panels))
    return previews


def draw_panels(
    image: NamedInput,
    task: Task,
    reference: Result,
    candidate: Result | None,
    backend: str,
    gates: Mapping[str, float],
) -> tuple[Panel, ...]:
    """PyTorch's result and the backend's drawn on the image, and what differs.

    Without a candidate (an output level that has no results) the first stands alone. ``gates``: of the pipeline
    comparison.
    """
    reference = task.shown(reference)
    panels = [_panel(image, task, reference, "PyTorch")]
    if candidate is not None:
        candidate = task.shown(candidate)
        panels.append(_panel(image, task, candidate, backend))
        apart = proof_of(task).difference(image.value, reference, candidate, gates)
        drawing = None if apart.image is None else _bounded(apart.image)
        panels.append(Panel("difference", drawing, apart.words))
    return tuple(panels)


def write_preview(folder: Path, number: int, name: str, drawing: NDArray[np.uint8]) -> Path:
    """Write ``previews/<number>-<name>.png`` into the folder; the number keeps files of one name apart."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(name).stem).strip("-")[:LONGEST_STEM] or "image"
    path = folder / PREVIEWS / f"{number:02d}-{stem}.png"
    path.parent.mkdir(exist_ok=True)
    written, data = cv2.imencode(".png", drawing)
    if not written:
        raise InputError(f"{path}: OpenCV cannot encode the preview")
    path.write_bytes(data.tobytes())
    return path


def _panel(image: NamedInput, task: Task, result: Result, title: str) -> Panel:
    return Panel(title, _bounded(task.draw(image.value, result)), task.caption(result))


def _bounded(drawing: Image) -> Image:
    """At most LONGEST_SIDE pixels."""
    height, width = drawing.shape[:2]
    scale = min(1.0, LONGEST_SIDE / max(height, width))
    if scale == 1.0:
        return drawing
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return cv2.resize(drawing, size, interpolation=cv2.INTER_AREA)
