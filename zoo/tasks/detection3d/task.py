"""Objects as boxes in space."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from zoo.geometry import wrapped_angle
from zoo.kitti import label_text
from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.detection.task import Detection
from zoo.tasks.detection3d.result import Detection3DResult
from zoo.tasks.output_role import OutputRole, Roles
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.saving import rows_of_json
from zoo.tasks.task import Array
from zoo.tensor_spec import TensorSpec

METRES = {"boxes": 1e-3, "yaw": 1e-3, "scores": 1e-4, "direction": 1e-4}
"""Gates: metres, radians modulo a full turn, and of two direction logits how near they are where either may win."""
TRUTH = (255, 255, 255)


@register_task
class Detection3D(Detection):
    """Boxes x y z length width height yaw with score and label. Slots past `num_dets` hold zeros, and label -1.

    Metres and radians, in the frame of the points: x forward, y left, z up; x y z is a box's centre, and the yaw, about
    z, is in [-pi, pi).
    """

    name: ClassVar[str] = "detection3d"
    metric: ClassVar[str] = "KittiAP"
    input_kind: ClassVar[str] = "points"
    result_type: ClassVar[type[DetectionResult]] = Detection3DResult
    proof_class: ClassVar[str] = "zoo.tasks.detection3d.proof:Detection3DProof"
    output_roles: ClassVar[Roles] = {**Detection.output_roles, "boxes": OutputRole.BOXES_3D}
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".txt")
    takes_image_sizes: ClassVar[bool] = False
    gates: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "graph": METRES,
        "pipeline": {**METRES, "nms_iou": 1e-4},  # nothing is resized: the input is the same
    }

    def files(self, image: Array, result: Any) -> Iterator[tuple[str, bytes]]:
        """Each detection as data, best first; and as a line of KITTI's result file, in a nominal camera's frame."""
        yield ".json", rows_of_json(result.objects(self.class_name))
        yield ".txt", label_text(result.kitti()).encode()

    def with_truth(self, drawing: Array, value: Array, truth: Mapping[str, Any]) -> Array:
        """The boxes of an item's ground truth, dashed and white."""
        from zoo.tasks.detection3d.bird_eye import BirdEye, draw_dashed_box  # most processes never draw

        canvas = drawing.copy()
        for box in BirdEye.of(value).in_pixels(truth["boxes"]):
            draw_dashed_box(canvas, box, TRUTH)
        return canvas

    def _draw(self, image: Array, result: Any) -> Array:
        """From above, boxes in the colour of their class with a tick in front; the best lie on top."""
        from zoo.tasks.detection3d.bird_eye import BirdEye, draw_heading_box
        from zoo.tasks.drawing import color

        view = BirdEye.of(image)
        canvas = view.canvas(image)
        parts = zip(view.in_pixels(result.boxes), result.scores, result.labels.tolist(), strict=True)
        for box, score, label in reversed(list(parts)):
            draw_heading_box(canvas, box, f"{self.class_name(label)} {score:.2f}", color(label))
        return canvas

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        if level == "decoded":
            return (
                TensorSpec("boxes", "float32", ("N", "P", 7)),
                TensorSpec("scores", "float32", ("N", "P", len(self.classes))),
            )
        return super()._outputs(level)

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Any]) -> list[Result]:
        return [
            Detection3DResult(in_range(boxes[:count]), scores[:count].copy(), labels[:count].copy())
            for count, boxes, scores, labels, _ in zip(
                *(outputs[name] for name in ("num_dets", "boxes", "scores", "labels")), geometries, strict=False
            )
        ]


def in_range(boxes: Array) -> Array:
    """A copy of boxes [n, 7] with the yaw in [-pi, pi): rounding may leave it at the other end."""
    boxes = np.array(boxes, np.float32)
    boxes[:, 6] = wrapped_angle(boxes[:, 6])
    return boxes
