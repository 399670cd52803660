"""Images inside the page, small enough that a page of four stays under three megabytes."""

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

import cv2
from numpy.typing import NDArray

from pipeline.proof.preview import Panel

EMBEDDED = 8  # images inside a page; the rest lie in previews/
QUALITIES = (88, 60)
LONGEST_SIDE = 960  # pixels
LARGEST = 75_000  # bytes of one image
ALL = 900_000  # bytes of all images of a page; base64 makes a third more of them
SMALLER = 0.85
SMALLEST_SIDE = 64


def image_bytes(count: int) -> int:
    """What each of ``count`` images of a page may take."""
    return min(LARGEST, ALL // max(1, count))


def embedded_images(images: Sequence[tuple[str, Sequence[Panel]]]) -> list[Mapping[str, Any]]:
    """Names of images, each with its panels, for the template."""
    most = image_bytes(sum(panel.image is not None for _, panels in images for panel in panels))
    return [{"name": name, "panels": [_embedded(panel, most) for panel in panels]} for name, panels in images]


def data_uri(image: NDArray[Any], most: int = LARGEST, longest: int = LONGEST_SIDE) -> str:
    """The image (uint8 BGR) inside a link, as WebP of at most ``most`` bytes: of less quality, then smaller.

    ``longest``: pixels of its longer side at most.
    """
    image = _scaled(image, min(1.0, longest / max(image.shape[:2])))
    while True:
        for quality in QUALITIES:
            _, data = cv2.imencode(".webp", image, [cv2.IMWRITE_WEBP_QUALITY, quality])
            if len(data) <= most or max(image.shape[:2]) <= SMALLEST_SIDE:
                return "data:image/webp;base64," + base64.b64encode(data.tobytes()).decode()
        image = _scaled(image, min(SMALLER, math.sqrt(most / len(data))))  # bytes go with the area


def _embedded(panel: Panel, most: int) -> Mapping[str, Any]:
    if panel.image is None:
        return {"title": panel.title, "words": panel.words, "source": None}
    height, width = panel.image.shape[:2]
    source = data_uri(panel.image, most)
    return {"title": panel.title, "words": panel.words, "source": source, "height": height, "width": width}


def _scaled(image: NDArray[Any], scale: float) -> NDArray[Any]:
    if scale >= 1.0:
        return image
    height, width = image.shape[:2]
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    smaller: NDArray[Any] = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return smaller
