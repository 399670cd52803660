"""Objects as rotated boxes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from zoo.errors import InputError
from zoo.geometry.rotated_boxes import CONVENTIONS, in_convention
from zoo.preprocess import Geometry, Preprocess
from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.detection.task import Detection
from zoo.tasks.output_role import OutputRole, Roles
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.rotated_detection.dota import dota_text
from zoo.tasks.rotated_detection.result import RotatedDetectionResult
from zoo.tasks.saving import rows_of_json
from zoo.tasks.task import Array
from zoo.tensor_spec import TensorSpec


@register_task
class RotatedDetection(Detection):
    """Boxes x y w h angle with score and label. Slots past `num_dets` hold zeros, and label -1.

    Option `angle`: the convention of the angle, as mmrotate names them. "le90": w is the longer side, -90 <= angle < 90
    degrees. "oc", as OpenCV since 4.5.1: 0 < angle <= 90 degrees. "le135": w is the longer side, -45 <= angle < 135.
    """

    name: ClassVar[str] = "rotated-detection"
    metric: ClassVar[str] = "DotaMAP"
    truth: ClassVar[tuple[str, ...]] = ("rotated_boxes", "labels")
    result_type: ClassVar[type[DetectionResult]] = RotatedDetectionResult
    proof_class: ClassVar[str] = "zoo.tasks.rotated_detection.proof:RotatedDetectionProof"
    output_roles: ClassVar[Roles] = {**Detection.output_roles, "boxes": OutputRole.ROTATED_BOXES}
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".txt")
    takes_image_sizes: ClassVar[bool] = False
    OPTIONS: ClassVar[Mapping[str, type | tuple[str, ...]]] = {"angle": CONVENTIONS}

    def __init__(self, classes: Sequence[Any], angle: str = CONVENTIONS[0]) -> None:
        super().__init__(classes)
        self.angle = angle

    def check_preprocess(self, rule: Preprocess) -> None:
        """Raises InputError for another scale in x than in y: it makes parallelograms of rectangles."""
        if rule.resize == "stretch":
            raise InputError(
                f'task {self.name}: preprocess.resize="stretch" makes parallelograms of rotated boxes; give '
                'resize="letterbox"'
            )

    def files(self, image: Array, result: Any) -> Iterator[tuple[str, bytes]]:
        """Each detection as data, best first: box x y w h angle; and the same as DOTA's label file, without scores."""
        yield ".json", rows_of_json(result.objects(self.class_name))
        yield ".txt", dota_text(result.dota()).encode()

    def _draw(self, image: Array, result: Any) -> Array:
        """Boxes in the colour of their class, with name and score; the best lie on top."""
        from zoo.tasks.drawing import color, draw_quadrilateral  # most processes never draw

        canvas = image.copy()
        parts = zip(result.corners, result.scores, result.labels.tolist(), strict=True)
        for corners, score, label in reversed(list(parts)):
            draw_quadrilateral(canvas, corners, f"{self.class_name(label)} {score:.2f}", color(label))
        return canvas

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        if level == "decoded":
            return (
                TensorSpec("boxes", "float32", ("N", "P", 5)),
                TensorSpec("scores", "float32", ("N", "P", len(self.classes))),
            )
        return super()._outputs(level)

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]:
        results: list[Result] = []
        for count, boxes, scores, labels, geometry in zip(
            *(outputs[name] for name in ("num_dets", "boxes", "scores", "labels")), geometries, strict=False
        ):
            rows = in_convention(geometry.rotated_boxes_to_image(boxes[:count]), self.angle)
            results.append(RotatedDetectionResult(rows, scores[:count].copy(), labels[:count].copy()))
        return results
