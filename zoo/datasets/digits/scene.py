"""Scenes of the digits data set: real handwritten digits on real photographs, one seeded generator for each image.

The digits are scikit-learn's (UCI, Optical Recognition of Handwritten Digits). `make_scene(split, index)` depends on
its arguments alone, so that images can be made lazily, in any order and in parallel.
"""

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.datasets.digits.glyph import VISIBLE, draw_glyph
from zoo.datasets.digits.photographs import TRAIN_PHOTOGRAPHS, VAL_PHOTOGRAPHS, Photograph, load_photograph
from zoo.errors import InputError, nearest

VERSION = "1"  # of the images: another one where a change to this code changes them
SEED = 20  # of the whole data set; changing it changes every image
SPLITS = ("train", "val", "gate")  # the position is part of each image's seed
NUM_VAL_DIGITS = 300  # handwritten samples of val, and as many of gate; train has the rest
# (width, height) in pixels; the small ones more often, to keep the shipped split small.
SIZES = ((320, 256), (320, 256), (400, 300), (400, 300), (384, 384), (480, 320), (512, 384), (640, 480))
MIN_OBJECTS, MAX_OBJECTS = 2, 12
MIN_HEIGHT, MAX_HEIGHT = 0.17, 0.45  # of a digit, in parts of the image's height
MAX_COVERED = 0.05  # of an earlier digit's stroke, by a later one
MAX_BOX_IOU = 0.1
PLACEMENTS = 25  # tries for each digit
ROOMY = 6  # digits; where there are more, the largest ones are left out
DARK, BRIGHT = 95, 160  # mean brightness: only light ink below DARK, only dark ink above BRIGHT
HALF = 0.5  # chance


@dataclass(frozen=True)
class Scene:
    """`image` uint8 [H, W, 3], BGR; `label_map` uint8 [H, W], 0 background, digit d is d + 1; `photograph`, its name.

    `masks` bool [n, H, W], the visible stroke of each digit; `boxes` float32 [n, 4], x1 y1 x2 y2 around the visible
    stroke, in pixels (edges, so that x2 - x1 is the number of columns); `labels` int64 [n], d + 1.
    """

    image: NDArray[np.uint8]
    label_map: NDArray[np.uint8]
    masks: NDArray[np.bool_]
    boxes: NDArray[np.float32]
    labels: NDArray[np.int64]
    photograph: str


@cache
def _digits(split: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The handwritten samples of one split: cells float32 [n, 8, 8] in 0..1, digits int64 [n]; splits are disjoint."""
    from sklearn.datasets import load_digits

    data = load_digits()
    order = np.random.default_rng(SEED).permutation(len(data.images))
    bounds = {"val": (0, NUM_VAL_DIGITS), "gate": (NUM_VAL_DIGITS, 2 * NUM_VAL_DIGITS)}
    start, stop = bounds.get(split, (2 * NUM_VAL_DIGITS, len(order)))
    chosen = order[start:stop]
    return (data.images[chosen] / 16).astype(np.float32), data.target[chosen].astype(np.int64)


def photographs_of(split: str) -> tuple[Photograph, ...]:
    """The photographs that a split may use: gate shares those of val, train has its own."""
    return TRAIN_PHOTOGRAPHS if split == "train" else VAL_PHOTOGRAPHS


def make_scene(split: str, index: int) -> Scene:
    """Image `index` (0 and up, no upper end) of a split. Raises InputError for an unknown split."""
    if split not in SPLITS:
        raise InputError(f'unknown split "{split}" of digits; {nearest(split, SPLITS)}')
    rng = np.random.default_rng([SEED, SPLITS.index(split), index])
    photographs = photographs_of(split)
    photograph = photographs[rng.integers(len(photographs))]
    size = SIZES[rng.integers(len(SIZES))]
    image = _background(load_photograph(photograph), size, rng)
    label_map, masks, labels = _place_digits(image, *_digits(split), rng)
    image += np.float32(rng.uniform(0.5, 4)) * rng.standard_normal(image.shape, np.float32)
    pixels = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    return Scene(pixels, label_map, masks, np.stack([_box(mask) for mask in masks]), labels, photograph.name)


def _background(photograph: NDArray[np.uint8], size: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float32]:
    """A crop of a photograph, perhaps mirrored, with other brightness, contrast and colour: float32 [H, W, 3]."""
    width, height = size
    most = min(photograph.shape[1] / width, photograph.shape[0] / height)
    scale = most * rng.uniform(0.5, 1.0)  # photograph pixels for each pixel of the image
    w, h = round(width * scale), round(height * scale)
    x = rng.integers(photograph.shape[1] - w + 1)
    y = rng.integers(photograph.shape[0] - h + 1)
    method = cv2.INTER_AREA if scale > 1 else cv2.INTER_CUBIC
    crop = cv2.resize(photograph[y : y + h, x : x + w], size, interpolation=method).astype(np.float32)
    if rng.random() < HALF:
        crop = crop[:, ::-1]
    mean = crop.mean()
    contrast, brightness = rng.uniform(0.5, 1.1), rng.uniform(-35, 35)
    tint = rng.uniform(-15, 15, 3)
    return np.asarray(np.clip((crop - mean) * contrast + mean + brightness + tint, 0, 255), np.float32)


def _ink(under: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """A colour float32 [3] that stands out, light or dark, from a mean brightness in 0..255."""
    light = under < DARK or (under < BRIGHT and rng.random() < HALF)
    brightness = under + (1 if light else -1) * rng.uniform(70, 150)
    hue = rng.uniform(-1, 1, 3)
    return np.asarray(np.clip(brightness + rng.uniform(0, 70) * (hue - hue.mean()), 0, 255), np.float32)


def _place_digits(
    image: NDArray[np.float32], cells: NDArray[np.float32], digits: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int64]]:
    """Paints digits into `image` (in place); returns the label map, the visible masks and the labels.

    A digit that would cover much of another one is put elsewhere or left out, so none is ever mostly hidden.
    """
    height, width = image.shape[:2]
    count = int(rng.integers(MIN_OBJECTS, MAX_OBJECTS + 1))
    largest = MAX_HEIGHT if count <= ROOMY else 0.75 * MAX_HEIGHT
    masks: list[NDArray[np.bool_]] = []
    boxes: list[NDArray[np.float32]] = []
    labels: list[int] = []
    for attempt in range(PLACEMENTS * count):
        if len(masks) == count or (len(masks) >= MIN_OBJECTS and attempt > PLACEMENTS + 3 * count):
            break
        chosen = int(rng.integers(len(digits)))
        tall = height * MIN_HEIGHT * (largest / MIN_HEIGHT) ** rng.random()  # log-uniform
        opacity = draw_glyph(cells[chosen], tall, rng)
        h, w = opacity.shape
        if h > height or w > width:
            continue
        y, x = int(rng.integers(height - h + 1)), int(rng.integers(width - w + 1))
        inside = (slice(y, y + h), slice(x, x + w))
        stroke, box = opacity > VISIBLE, np.asarray((x, y, x + w, y + h), np.float32)
        if any(_hides(stroke, box, mask[inside], mask.sum(), b) for mask, b in zip(masks, boxes, strict=True)):
            continue
        for mask in masks:
            mask[inside] &= ~stroke
        _paint(image[inside], opacity, rng)
        masks.append(np.zeros((height, width), np.bool_))
        masks[-1][inside] = stroke
        boxes.append(box)
        labels.append(int(digits[chosen]) + 1)
    label_map = np.zeros((height, width), np.uint8)
    for mask, label in zip(masks, labels, strict=True):
        label_map[mask] = label
    return label_map, np.stack(masks), np.asarray(labels, np.int64)


def _paint(region: NDArray[np.float32], opacity: NDArray[np.float32], rng: np.random.Generator) -> None:
    """Mixes ink into a region float32 [h, w, 3], in place, by the opacity float32 [h, w] of a stroke."""
    under = float(region[opacity > VISIBLE].mean())
    weight = opacity[..., None] * np.float32(rng.uniform(0.85, 1.0))
    region += weight * (_ink(under, rng) - region)


def _hides(
    stroke: NDArray[np.bool_], box: NDArray[np.float32], mask: NDArray[np.bool_], area: int, other: NDArray[np.float32]
) -> bool:
    """Whether a new stroke bool [h, w] in `box` hides too much of an earlier one, or their boxes overlap too much.

    `mask` bool [h, w] is the part of the earlier stroke inside `box`, `area` its pixels in the whole image.
    """
    overlap = np.maximum(np.minimum(box[2:], other[2:]) - np.maximum(box[:2], other[:2]), 0).prod()
    if overlap == 0:
        return False
    union = (box[2:] - box[:2]).prod() + (other[2:] - other[:2]).prod() - overlap
    return bool(overlap > MAX_BOX_IOU * union or (stroke & mask).sum() > MAX_COVERED * area)


def _box(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """A mask bool [H, W], not empty -> the box float32 [4] around it."""
    ys, xs = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return np.asarray((xs[0], ys[0], xs[-1] + 1, ys[-1] + 1), np.float32)
