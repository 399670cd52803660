"""The panels of one image: what PyTorch found, what the backend found, where they differ; and their file's layout."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[Any]

GAP = 8  # pixels between two panels of a file
BAR = 28  # pixels of the title above each
PAPER, INK = 255, (32, 32, 32)


@dataclass(frozen=True)
class Panel:
    """One image, uint8 BGR, of what ``title`` names; ``words`` say the same to those who do not see it.

    ``image`` is None where two results do not differ, so that there is nothing to draw.
    """

    title: str
    image: Image | None
    words: str


@dataclass(frozen=True)
class Preview:
    """Of the image ``name``. ``path`` inside the deployment's folder: PyTorch and the backend side by side.

    ``panels``: PyTorch, the backend and their difference; PyTorch alone where the output level has no results.
    """

    path: Path
    name: str
    panels: tuple[Panel, ...]


def side_by_side(panels: Sequence[Panel]) -> NDArray[np.uint8]:
    """The panels that have an image, with their titles, in one image, uint8 BGR."""
    titled = [_titled(panel.title, panel.image) for panel in panels if panel.image is not None]
    height = max(len(panel) for panel in titled)  # images of two sizes are a fault that may be allowed
    titled = [np.pad(panel, ((0, height - len(panel)), (0, 0), (0, 0)), constant_values=PAPER) for panel in titled]
    gap = np.full((titled[0].shape[0], GAP, 3), PAPER, np.uint8)
    return np.hstack([part for panel in titled for part in (gap, panel)][1:])


def second_of_two(image: Image) -> Image:
    """The right one of two panels of a file, without its title."""
    width = (image.shape[1] - GAP) // 2
    return image[BAR:, -width:]


def _titled(title: str, image: Image) -> NDArray[np.uint8]:
    bar = np.full((BAR, image.shape[1], 3), PAPER, np.uint8)
    cv2.putText(bar, title, (4, BAR - 9), cv2.FONT_HERSHEY_SIMPLEX, 0.55, INK, 1, cv2.LINE_AA)
    return np.vstack((bar, image.astype(np.uint8)))
