"""Boxes and keypoints of a COCO annotation file."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from zoo.datasets.coco.detection import CocoDetection, Wrong
from zoo.datasets.coco.document import Record
from zoo.datasets.coco.finite_numbers import are_numbers
from zoo.registry import DATASETS

VISIBILITIES = (0, 1, 2)  # not labelled, labelled but hidden, visible


@DATASETS.register_module()
class CocoKeypoints(CocoDetection):
    """As CocoDetection, and "keypoints" float32 [n, P, 3]: x, y in pixels, visibility 0 (not labelled), 1, 2 (visible).

    All annotations have the same P; a crowd may have none, which stands as P points that are not labelled.
    """

    num_points = 0

    def _wrong(self, record: Record, size: tuple[int, int]) -> Iterator[Wrong]:
        yield from super()._wrong(record, size)
        points = record.get("keypoints")
        if not points and record["iscrowd"]:
            return
        if not isinstance(points, list) or not points or len(points) % 3 or not are_numbers(points):
            yield "keypoints", "keypoints: expected numbers x, y, visibility of each point"
            return
        names = self.categories[record["category_id"]].get("keypoints")
        self.num_points = self.num_points or len(names if isinstance(names, list) else ()) or len(points) // 3
        if len(points) != 3 * self.num_points:
            yield "keypoints", f"{len(points) // 3} keypoints, expected {self.num_points} as in the rest of the file"
        elif strange := set(points[2::3]) - set(VISIBILITIES):
            yield "keypoints", f"keypoint with visibility {min(strange)}, expected 0, 1 or 2"

    def _truth(self, index: int) -> dict[str, Any]:
        records = self.annotations[index]
        points = np.zeros((len(records), self.num_points, 3), np.float32)
        for row, record in zip(points, records, strict=True):
            if record.get("keypoints"):
                row[:] = np.reshape(record["keypoints"], (-1, 3))
        return super()._truth(index) | {"keypoints": points}
