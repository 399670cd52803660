"""Slow and plain: the common area of two rotated rectangles in exact fractions of their rounded corners."""

import math
from fractions import Fraction

Point = tuple[Fraction, Fraction]


def exact_iou(a, b) -> float:
    first, second = corners(a), corners(b)
    common = area(clipped(first, second))
    return float(common / (area(first) + area(second) - common))


def corners(box) -> list[Point]:
    x, y, w, h, angle = (float(value) for value in box)
    cosine, sine = Fraction(math.cos(angle)), Fraction(math.sin(angle))
    offsets = [(Fraction(w) / 2 * u, Fraction(h) / 2 * v) for u, v in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    return [(Fraction(x) + u * cosine - v * sine, Fraction(y) + u * sine + v * cosine) for u, v in offsets]


def clipped(polygon: list[Point], window: list[Point]) -> list[Point]:
    for start, end in zip(window, window[1:] + window[:1], strict=True):
        sides = [(end[0] - start[0]) * (y - start[1]) - (end[1] - start[1]) * (x - start[0]) for x, y in polygon]
        rest: list[Point] = []
        for number, point in enumerate(polygon):
            other, side, beyond = polygon[number - 1], sides[number], sides[number - 1]
            if side * beyond < 0:
                share = beyond / (beyond - side)
                rest.append((other[0] + share * (point[0] - other[0]), other[1] + share * (point[1] - other[1])))
            if side >= 0:
                rest.append(point)
        polygon = rest
    return polygon


def area(polygon: list[Point]) -> Fraction:
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return sum((a[0] * b[1] - b[0] * a[1] for a, b in pairs), Fraction(0)) / 2
