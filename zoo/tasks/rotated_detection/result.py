"""The objects found in one image, as rotated boxes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.geometry.box_form import BoxForm
from zoo.geometry.rotated import rotated_corners
from zoo.geometry.rotated_boxes import ROTATED
from zoo.optional_library import optional_library
from zoo.tasks.detection.result import DetectionResult, columns_of
from zoo.tasks.rotated_detection.dota import DotaObject


@dataclass(frozen=True, eq=False, repr=False)
class RotatedDetectionResult(DetectionResult):
    """A DetectionResult whose `boxes` float32 [n, 5] are x y w h angle: centre and sides in pixels of the image.

    The angle is in radians from the x axis to the side w; y points down, so that a positive one turns clockwise. Its
    range, and which side is w, depend on the task's option `angle`.
    """

    has_coco: ClassVar[bool] = False
    form: ClassVar[BoxForm] = ROTATED
    columns: ClassVar[Mapping[str, str]] = columns_of(ROTATED)

    @property
    def corners(self) -> NDArray[np.float32]:
        """float32 [n, 4, 2]: x y in pixels of the image, clockwise as one looks at it."""
        corners: NDArray[np.float32] = rotated_corners(self.boxes).astype(np.float32)
        return corners

    def dota(self) -> list[DotaObject]:
        """The finite ones as DOTA has them, best first."""
        return [
            DotaObject(tuple(corners.ravel().tolist()), self.class_name(label))
            for corners, label in zip(self.finite().corners, self.finite().labels.tolist(), strict=True)
        ]

    def to_coco(self, image_id: int) -> list[dict[str, Any]]:
        """COCO has no rotated boxes. Raises InputError."""
        self._refuse("COCO form")

    def to_supervision(self) -> Any:
        """`supervision.Detections` with the corners as data["xyxyxyxy"], and the upright boxes around them."""
        corners = self.corners
        return optional_library("supervision", "supervision", "to_supervision()").Detections(
            xyxy=np.concatenate((corners.min(axis=1), corners.max(axis=1)), axis=1),
            confidence=self.scores.copy(),
            class_id=self.labels.copy(),
            data={
                "class_name": np.array([self.class_name(label) for label in self.labels.tolist()], np.str_),
                "xyxyxyxy": corners,
            },
        )
