"""What two deployments found in the same images, from the previews that lie beside them."""

import cv2
import numpy as np

from pipeline.proof.preview import Panel
from pipeline.report.preview_file import read_result
from pipeline.report.recorded import Recorded
from zoo.opened_file import OpenedFile
from zoo.tasks.highlight import Image, faded, highlight

VISIBLE = 24  # of 255: how far a drawn pixel must change to be reported


def compared_images(first: Recorded, second: Recorded) -> list[tuple[str, list[Panel]]]:
    """For each preview of one name: A's image, B's, and where they differ.

    Empty where a deployment's output level has no results to draw.
    """
    if any(side.manifest.output_level != "final" for side in (first, second)):
        return []
    shared = [name for name in first.previews if name in second.previews]
    return [(name, _panels(first.preview(name), second.preview(name))) for name in shared]


def _panels(first: OpenedFile, second: OpenedFile) -> list[Panel]:
    images = [read_result(file) for file in (first, second)]
    panels = [Panel(who, image, "what it found") for who, image in zip("AB", images, strict=True)]
    if images[0].shape == images[1].shape:
        panels.append(_difference(*images))
    return panels


def _difference(one: Image, other: Image) -> Panel:
    changed = cv2.absdiff(one, other).max(axis=2) > VISIBLE
    if not changed.any():
        return Panel("difference", None, "the two drawings are equal")
    canvas = faded(one)
    highlight(canvas, changed)
    return Panel("difference", canvas, f"{int(np.count_nonzero(changed))} drawn pixels differ")
