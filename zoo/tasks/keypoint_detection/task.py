"""Objects as boxes with keypoints."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from zoo.preprocess import Geometry
from zoo.tasks.detection import Detection, DetectionResult
from zoo.tasks.keypoint_detection.result import KeypointResult
from zoo.tasks.output_role import OutputRole, Roles
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.task import Array
from zoo.tensor_spec import TensorSpec


@register_task
class KeypointDetection(Detection):
    """Detections with P keypoints each: x, y and a score. Empty slots have keypoints of zeros."""

    name: ClassVar[str] = "keypoint-detection"
    metric: ClassVar[str] = "CocoKeypointAP"
    truth: ClassVar[tuple[str, ...]] = ("boxes", "labels", "keypoints")
    result_type: ClassVar[type[DetectionResult]] = KeypointResult
    proof_class: ClassVar[str] = "zoo.tasks.keypoint_detection.proof:KeypointProof"
    output_roles: ClassVar[Roles] = {**Detection.output_roles, "keypoints": OutputRole.KEYPOINTS}

    def _draw(self, image: Array, result: DetectionResult) -> Array:
        """Boxes as for detections, and a dot for each keypoint, in a colour of its own."""
        assert isinstance(result, KeypointResult)
        from zoo.tasks.drawing import color, draw_dot  # most processes never draw

        canvas = super()._draw(image, result)
        for points in result.keypoints[::-1]:
            for number, (x, y, _) in enumerate(points.tolist()):
                if math.isfinite(x) and math.isfinite(y):
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
