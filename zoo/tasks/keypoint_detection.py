"""Objects as boxes with keypoints."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from zoo.preprocess import Geometry
from zoo.structures import KeypointResult, Result
from zoo.tasks.detection import Detection
from zoo.tasks.task import Array
from zoo.tensor_spec import TensorSpec


class KeypointDetection(Detection):
    """Detections with P keypoints each: x, y and a score. Empty slots have keypoints of zeros."""

    name: ClassVar[str] = "keypoint-detection"
    metric: ClassVar[str] = "CocoKeypointAP"

    def draw(self, image: Array, result: Result) -> Array:
        """Boxes as for detections, and a dot for each keypoint, in a colour of its own."""
        if not isinstance(result, KeypointResult):
            raise self._wrong_result(result)
        from zoo.tasks.drawing import color, draw_dot  # most processes never draw

        canvas = super().draw(image, result)
        for points in result.keypoints[::-1]:
            for number, (x, y, _) in enumerate(points.tolist()):
                draw_dot(canvas, (x, y), color(number))
        return canvas

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        keypoints = TensorSpec("keypoints", "float32", ("N", "K", "P", 3))
        return (*super()._outputs(level), keypoints) if level == "final" else super()._outputs(level)

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]:
        return [
            KeypointResult(
                geometry.boxes_to_image(boxes[:count]),
                scores[:count].copy(),
                labels[:count].copy(),
                np.concatenate([geometry.points_to_image(keypoints[:count, :, :2]), keypoints[:count, :, 2:]], axis=2),
            )
            for count, boxes, scores, labels, keypoints, geometry in zip(
                *(outputs[name] for name in ("num_dets", "boxes", "scores", "labels", "keypoints")),
                geometries,
                strict=False,
            )
        ]
