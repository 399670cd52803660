"""The objects found in one point cloud."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.geometry.box_form import BoxForm
from zoo.geometry.boxes3d import BOXES_3D
from zoo.kitti import NOMINAL, Calibration, KittiObject, objects_of_boxes
from zoo.kitti.boxes import corners_3d, has_area, parts_in_image
from zoo.tasks.detection.result import DetectionResult, columns_of


@dataclass(frozen=True, eq=False, repr=False)
class Detection3DResult(DetectionResult):
    """A DetectionResult whose `boxes` float32 [n, 7] are x y z length width height yaw, in the frame of the points.

    Metres; x y z is the centre, length is along the heading, and the yaw is in radians about z, counter-clockwise seen
    from above, in [-pi, pi).
    """

    has_coco: ClassVar[bool] = False
    form: ClassVar[BoxForm] = BOXES_3D
    columns: ClassVar[Mapping[str, str]] = columns_of(BOXES_3D)

    @property
    def corners(self) -> NDArray[np.float32]:
        """float32 [n, 8, 3]: x y z in metres, the four at the bottom, front left first, then those at the top."""
        corners: NDArray[np.float32] = corners_3d(self.boxes).astype(np.float32)
        return corners

    def kitti(self, calibration: Calibration = NOMINAL) -> list[KittiObject]:
        """The finite ones of which a part is in the image, as objects of KITTI's result files, best first.

        In the frame of its camera; without the calibration of the cloud's own camera, of a nominal one (see
        zoo.kitti.NOMINAL).
        """
        finite = self.finite()
        seen = finite[has_area(parts_in_image(finite.boxes, calibration))]
        types = [self.class_name(label).capitalize() for label in seen.labels.tolist()]
        return objects_of_boxes(seen.boxes, types, calibration, scores=seen.scores.tolist())

    def to_coco(self, image_id: int) -> list[dict[str, Any]]:
        """COCO has no boxes in space. Raises InputError."""
        self._refuse("COCO form")

    def to_supervision(self) -> Any:
        """supervision has no boxes in space. Raises InputError."""
        self._refuse("form in supervision")
