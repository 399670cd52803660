"""A small COCO data set of three drawn shapes, to try out training on data of one's own.

`python -m zoo.datasets.shapes FOLDER [IMAGES]` writes FOLDER/annotations.json and FOLDER/images; 60 images by default.
"""

import json
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.datasets.files.image_writing import write_image

CATEGORIES = {3: "circle", 7: "triangle", 12: "star"}  # ids as data sets have them: not from 0, with holes
IMAGES = 60
SIZE = (192, 240)  # (height, width)
SEED = 20
JPEG_QUALITY = 90
POINTS = 24  # corners of a circle's outline


def write_shapes(folder: Path, count: int = IMAGES, seed: int = SEED) -> Path:
    """Write the images, one to four shapes in each; the annotation file. The same seed gives the same files."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for index in range(count):
        rng = np.random.default_rng([seed, index])
        image, name = _background(rng), f"{index:03d}.jpg"
        images.append({"id": 100 + index, "file_name": name, "height": SIZE[0], "width": SIZE[1]})
        for category_id, outline in _scene(rng):
            cv2.fillPoly(image, [np.round(outline).astype(np.int32)], rng.integers(0, 256, 3).tolist(), cv2.LINE_AA)
            annotations.append(_annotation(len(annotations) + 1, 100 + index, category_id, outline))
        write_image(folder / "images" / name, image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    categories = [{"id": category_id, "name": name} for category_id, name in CATEGORIES.items()]
    document = {"images": images, "categories": categories, "annotations": annotations}
    file = folder / "annotations.json"
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return file


def _background(rng: np.random.Generator) -> NDArray[np.uint8]:
    """A slope of two colours with noise."""
    height, width = SIZE
    low, high = rng.uniform(0, 255, (2, 3))
    share = np.linspace(0, 1, width)[None, :, None]
    pixels = low * (1 - share) + high * share + rng.normal(0, 6, (height, width, 3))
    return np.asarray(np.clip(pixels, 0, 255), np.uint8)


def _scene(rng: np.random.Generator) -> list[tuple[int, NDArray[np.float64]]]:
    """Category ids and outlines [n, 2] in pixels, inside of the image and side by side."""
    shapes: list[tuple[int, NDArray[np.float64]]] = []
    taken: list[tuple[float, float, float]] = []
    for _ in range(int(rng.integers(1, 5))):
        radius = float(rng.uniform(18, 38))
        x, y = float(rng.uniform(radius, SIZE[1] - radius)), float(rng.uniform(radius, SIZE[0] - radius))
        if any(np.hypot(x - x1, y - y1) < radius + radius1 for x1, y1, radius1 in taken):
            continue
        taken.append((x, y, radius))
        category_id = int(rng.choice(list(CATEGORIES)))
        shapes.append((category_id, np.asarray([x, y]) + radius * _outline(CATEGORIES[category_id], rng)))
    return shapes


def _outline(name: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Corners [n, 2] of a shape around 0 with radius 1, turned at random."""
    corners = {"circle": POINTS, "triangle": 3, "star": 10}[name]
    angles = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(corners) / corners
    radii = np.where(np.arange(corners) % 2 == 1, 0.45, 1.0) if name == "star" else np.ones(corners)
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


def _annotation(number: int, image_id: int, category_id: int, outline: NDArray[np.float64]) -> dict[str, Any]:
    """COCO's record, the outline as its polygon."""
    (x0, y0), (x1, y1) = outline.min(axis=0).round(2).tolist(), outline.max(axis=0).round(2).tolist()
    return {
        "id": number,
        "image_id": image_id,
        "category_id": category_id,
        "bbox": [x0, y0, round(x1 - x0, 2), round(y1 - y0, 2)],
        "area": float(cv2.contourArea(outline.astype(np.float32))),
        "iscrowd": 0,
        "segmentation": [outline.round(2).flatten().tolist()],
    }


if __name__ == "__main__":
    print(write_shapes(Path(sys.argv[1]), *map(int, sys.argv[2:3])))  # noqa: T201 - a script
