"""Random data sets for metrics: truth, and what an imperfect model might find in it. A test chooses the seed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pycocotools import mask as run_lengths

from zoo.metrics.metric import Metric

SIZE = (160, 200)  # height, width
KEYPOINTS = 5
CLASSES = 3

Pairs = list[tuple[dict[str, Any], dict[str, Any]]]


def detection_scenes(rng: np.random.Generator, images: int, objects: int = 6, *, ties: bool = False) -> Pairs:
    """(item, result) for each image: about ``objects`` objects, some crowds; found well, badly, twice, or not at all.

    ``ties``: scores in steps of a quarter, so that many detections of an image score the same.
    """
    return [_scene(rng, index, objects, ties=ties) for index in range(images)]


def _scene(rng: np.random.Generator, index: int, objects: int, *, ties: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    count = int(rng.integers(0, 2 * objects + 1))
    boxes, labels = _boxes(rng, count), rng.integers(0, CLASSES, count)
    item = {
        "image": np.zeros((*SIZE, 3), np.uint8),
        "image_id": 3 * index + 1,
        "boxes": boxes,
        "labels": labels,
        "areas": ((boxes[:, 2:] - boxes[:, :2]).prod(axis=1) * rng.uniform(0.5, 1, count)).astype(np.float32),
        "iscrowd": (rng.random(count) < 0.15).astype(np.int64),
        "difficult": rng.random(count) < 0.2,
    }
    kept = np.repeat(np.arange(count), rng.choice(3, count, p=(0.2, 0.6, 0.2)))  # missed, found, found twice
    false = int(rng.integers(0, objects))
    shift = rng.normal(0, 0.05, (len(kept), 4)) * np.tile(boxes[kept, 2:] - boxes[kept, :2], 2)
    found = np.concatenate([boxes[kept] + shift, _boxes(rng, false)]).astype(np.float32)
    found[:, 2:] = np.maximum(found[:, 2:], found[:, :2] + 1)
    names = np.concatenate([labels[kept], rng.integers(0, CLASSES, false)])
    names = np.where(rng.random(len(names)) < 0.1, rng.integers(0, CLASSES + 1, len(names)), names)
    scores = rng.random(len(names))
    result = {
        "boxes": found,
        "labels": names.astype(np.int64),
        "scores": (np.round(scores * 4) / 4 if ties else scores).astype(np.float32),
    }
    _add_shapes(rng, item)
    _add_shapes(rng, result)
    item["masks"] = [run_lengths.encode(np.asfortranarray(mask.astype(np.uint8))) for mask in item["masks"]]
    return item, result


def _boxes(rng: np.random.Generator, count: int) -> np.ndarray:
    size = np.exp(rng.uniform(np.log(8), np.log(120), (count, 2)))
    corner = rng.uniform(0, (SIZE[1] - 10, SIZE[0] - 10), (count, 2))
    return np.concatenate([corner, np.minimum(corner + size, (SIZE[1], SIZE[0]))], axis=1).astype(np.float32)


def _add_shapes(rng: np.random.Generator, record: dict[str, Any]) -> None:
    """Masks bool [n, h, w] that fill most of the boxes; keypoints [n, P, 3] near fixed places of them."""
    boxes = record["boxes"]
    grid = np.linspace(0.1, 0.9, KEYPOINTS)
    places = np.stack([grid, grid**2], axis=1) + rng.normal(0, 0.01, (len(boxes), KEYPOINTS, 2))
    points = boxes[:, None, :2] + (boxes[:, 2:] - boxes[:, :2])[:, None] * places
    seen = rng.choice(3, points.shape[:2], p=(0.3, 0.2, 0.5))
    record["keypoints"] = np.concatenate([points, seen[..., None]], axis=2).astype(np.float32)
    masks = np.zeros((len(boxes), *SIZE), bool)
    for mask, (x1, y1, x2, y2) in zip(masks, np.maximum(boxes, 0).round().astype(int), strict=True):
        mask[y1 : y2 + 1, x1 : x2 + 1] = True
        mask[:, x1 + int(rng.integers(0, 20)) :: 20] = False
    record["masks"] = masks


def processed(metric: Metric, pairs: Sequence[tuple[dict[str, Any], Any]]) -> dict[str, float]:
    """The figures, with the prefix, of one process that saw the images in this order."""
    for item, result in pairs:
        metric.process([item], [result])
    figures: dict[str, float] = metric.evaluate(len(pairs))
    return figures


def draws(rng: np.random.Generator, images: int, count: int) -> np.ndarray:
    """How often each image counts, int64 [count, images]; the first draw has each image once."""
    drawn = rng.multinomial(images, np.full(images, 1 / images), size=count)
    drawn[0] = 1
    return drawn.astype(np.int64)


def repeated(metric: Metric, entries: Sequence[Any], counts: np.ndarray) -> list[float]:
    """The main figure where each image is literally there as often as it was drawn: what `resampled` must equal."""
    return [
        metric.figures([entry for entry, count in zip(entries, row, strict=True) for _ in range(count)])[metric.main]
        for row in counts
    ]
