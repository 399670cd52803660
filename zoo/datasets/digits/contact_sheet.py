"""A contact sheet of a split: every image with its boxes and masks drawn."""

import math
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.datasets.digits.on_disk import DigitsDetection, DigitsSegmentation
from zoo.datasets.files.image_writing import write_image

CELL = (80, 96)  # (height, width) of one image on the sheet, in pixels: whole blocks of JPEG's colours
COLUMNS = 8
OPACITY = 0.55
QUALITY = 45
# One colour (BGR) for each digit, bright enough for dark and light photographs.
COLOURS = np.asarray(
    [
        (60, 60, 255), (60, 160, 255), (60, 240, 255), (90, 255, 120), (220, 255, 60),
        (255, 180, 60), (255, 90, 90), (255, 90, 200), (190, 190, 190), (160, 110, 255),
    ],
    np.uint8,
)  # fmt: skip


def draw_contact_sheet(split: str, root: Path | None, path: Path) -> None:
    """Writes all images of a split, in order, as one JPEG of `COLUMNS` columns; `root` as the data sets take it.

    Raises OSError where it cannot be written.
    """
    boxes, label_maps = DigitsDetection(split, root), DigitsSegmentation(split, root)
    rows = math.ceil(len(boxes) / COLUMNS)
    sheet = np.full((rows * CELL[0], COLUMNS * CELL[1], 3), 255, np.uint8)
    for index in range(len(boxes)):
        y, x = index // COLUMNS * CELL[0], index % COLUMNS * CELL[1]
        sheet[y : y + CELL[0], x : x + CELL[1]] = _cell(boxes[index] | label_maps[index])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_image(path, sheet, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])


def _cell(item: dict[str, Any]) -> NDArray[np.uint8]:
    """One image, strokes tinted, scaled into a grey cell uint8 [*CELL, 3], boxes and digits drawn on top."""
    image = item["image"]
    tint = np.concatenate([np.zeros_like(COLOURS[:1]), COLOURS])[item["label_map"]]
    stroke = item["label_map"][..., None] > 0
    painted = np.where(stroke, (1 - OPACITY) * image + OPACITY * tint, image).astype(np.uint8)
    scale = min(CELL[0] / image.shape[0], CELL[1] / image.shape[1])
    width, height = round(image.shape[1] * scale), round(image.shape[0] * scale)
    small = cv2.resize(painted, (width, height), interpolation=cv2.INTER_AREA)
    for (x1, y1, x2, y2), label in zip(item["boxes"], item["labels"].tolist(), strict=True):
        colour = COLOURS[label - 1].tolist()
        x, y, w, h = (round(edge * scale) for edge in (x1, y1, x2 - x1, y2 - y1))
        cv2.rectangle(small, (x, y), (x + w - 1, y + h - 1), colour, 1)
        digit = str(label - 1)
        cv2.putText(small, digit, (x + 1, y + 9), cv2.FONT_HERSHEY_SIMPLEX, 0.3, (0, 0, 0), 2, cv2.LINE_AA)
        cv2.putText(small, digit, (x + 1, y + 9), cv2.FONT_HERSHEY_SIMPLEX, 0.3, colour, 1, cv2.LINE_AA)
    cell = np.full((*CELL, 3), 114, np.uint8)
    cell[:height, :width] = small
    return cell
