"""One annotation file of PASCAL VOC."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.datasets.box_extent import outside
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_files import format_pixel_size
from zoo.datasets.files.xml_tree import Element, read_xml
from zoo.errors import nearest

EDGES = ("xmin", "ymin", "xmax", "ymax")


class VOCAnnotation(NamedTuple):
    """`boxes` float32 [n, 4] x1 y1 x2 y2 (edges), `labels` int64 [n], `difficult` bool [n]."""

    boxes: NDArray[np.float32]
    labels: NDArray[np.int64]
    difficult: NDArray[np.bool_]


def read_annotation(
    path: Path, labels: Mapping[str, int], size: tuple[int, int] | None, faults: Faults
) -> VOCAnnotation:
    """The objects of a file, with the model's ids of their names, on an image of `size` (height, width), if known.

    The file numbers pixels from 1, and its boxes include both ends: the first pixel alone is 1 1 1 1. Here boxes have
    edges: (xmin - 1, ymin - 1, xmax, ymax), so that one is 0 0 1 1.
    """
    root = read_xml(path, faults) or Element("annotation", 1)
    if size is not None:
        _check_size(root, size, path, faults)
    boxes: list[tuple[float, ...]] = []
    ids: list[int] = []
    difficult: list[bool] = []
    for item in (child for child in root.children if child.tag == "object"):
        name = item.child("name") or Element("name", item.line)
        label = labels.get(name.text.strip())
        if label is None:
            hint = f"none of the task's classes; {nearest(name.text.strip(), labels)}"
            faults.add(path, f'unknown class "{name.text.strip()}", {hint}', name.line)
        box = _box(item, size, path, faults)
        if label is not None and box is not None:
            boxes.append(box)
            ids.append(label)
            flag = item.child("difficult")
            difficult.append(flag is not None and flag.text.strip() == "1")
    return VOCAnnotation(
        np.asarray(boxes, np.float32).reshape(-1, 4), np.asarray(ids, np.int64), np.asarray(difficult, np.bool_)
    )


def _check_size(root: Element, size: tuple[int, int], path: Path, faults: Faults) -> None:
    """What the file says of its image's size, where it does."""
    element = root.child("size")
    if element is not None:
        height, width = (_number(element.child(side)) for side in ("height", "width"))
        if height is None or width is None:
            faults.add(path, "size: expected width and height in pixels", element.line)
        elif (height, width) != size:
            faults.add(path, f"size {width:g}x{height:g}, the image file is {format_pixel_size(size)}", element.line)


def _box(item: Element, size: tuple[int, int] | None, path: Path, faults: Faults) -> tuple[float, ...] | None:
    """The edges of an object's box, checked."""
    element = item.child("bndbox")
    if element is None:
        faults.add(path, 'object without "bndbox"', item.line)
        return None
    edges = [_number(element.child(edge)) for edge in EDGES]
    numbers = [edge for edge in edges if edge is not None]
    if len(numbers) != len(EDGES):
        faults.add(path, f"bndbox: expected a number for each of {', '.join(EDGES)}", element.line)
        return None
    xmin, ymin, xmax, ymax = numbers
    name = f"bndbox {xmin:g} {ymin:g} {xmax:g} {ymax:g}"
    box = (xmin - 1, ymin - 1, xmax, ymax)
    if xmax < xmin or ymax < ymin:
        faults.add(path, f"{name} has a negative width or height", element.line)
    elif size is not None and (message := outside(box, size)):
        faults.add(path, f"{name} {message}", element.line)
    return box


def _number(element: Element | None) -> float | None:
    """The finite number that an element holds, if it does."""
    try:
        value = float(element.text) if element is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None
