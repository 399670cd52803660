"""What two deployments found in the same images, from the previews that lie beside them."""

from pathlib import Path

import cv2
import numpy as np

from pipeline.proof.preview import Panel, second_of_two
from pipeline.report.recorded import Recorded
from zoo.errors import InputError
from zoo.image_file import ImageFileError, read_pixels
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
    images = [_read(file) for file in (first, second)]
    panels = [Panel(who, image, "what it found") for who, image in zip("AB", images, strict=True)]
    if images[0].shape == images[1].shape:
        changed = cv2.absdiff(*images).max(axis=2) > VISIBLE
        canvas = faded(images[0])
        highlight(canvas, changed)
        panels.append(Panel("difference", canvas, f"{int(np.count_nonzero(changed))} drawn pixels differ"))
    return panels


def _read(file: OpenedFile) -> Image:
    try:
        return second_of_two(read_pixels(Path(file.link or file.path)))
    except (ImageFileError, OSError) as error:
        raise InputError(f"{file.path}: {error}, or deploy the model again with tools/deploy.py") from error
