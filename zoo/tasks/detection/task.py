"""Objects as boxes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from zoo.preprocess import Geometry
from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.output_role import OutputRole, Roles
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.saving import rows_of_json
from zoo.tasks.task import Array, Task
from zoo.tensor_spec import TensorSpec

DRAWN_SCORE = 0.3


@register_task
class Detection(Task):
    """Boxes x1 y1 x2 y2 with score and label. Slots past `num_dets` hold zeros, and label -1."""

    name: ClassVar[str] = "detection"
    metric: ClassVar[str] = "CocoBoxAP"
    truth: ClassVar[tuple[str, ...]] = ("boxes", "labels")
    result_type: ClassVar[type[DetectionResult]] = DetectionResult
    proof_class: ClassVar[str] = "zoo.tasks.detection.proof:DetectionProof"
    output_roles: ClassVar[Roles] = {
        "num_dets": OutputRole.COUNT,
        "boxes": OutputRole.BOXES,
        "proposals": OutputRole.BOXES,
        "scores": OutputRole.SCORES,
        "labels": OutputRole.LABELS,
    }
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    takes_image_sizes: ClassVar[bool] = True

    def amount(self, result: DetectionResult) -> int:
        """Objects."""
        return len(result)

    def shown(self, result: DetectionResult) -> DetectionResult:
        """Without the detections of a low score, which hide the others."""
        finite = result.finite()
        return finite[finite.scores >= DRAWN_SCORE]

    def caption(self, result: DetectionResult) -> str:
        """Of what `shown` leaves."""
        return f"{len(result)} object{'s' * (len(result) != 1)} with a score of {DRAWN_SCORE} or more"

    def files(self, image: Array, result: DetectionResult) -> Iterator[tuple[str, bytes]]:
        """Each detection as data, best first: box x1 y1 x2 y2 in pixels of the image."""
        yield ".json", rows_of_json(result.objects(self.class_name))

    def _draw(self, image: Array, result: DetectionResult) -> Array:
        """Boxes in the colour of their class, with name and score; the best lie on top."""
        from zoo.tasks.drawing import color, draw_box  # most processes never draw

        canvas = image.copy()
        for box, score, label in reversed(list(zip(result.boxes, result.scores, result.labels.tolist(), strict=True))):
            draw_box(canvas, box, f"{self.class_name(label)} {score:.2f}", color(label))
        return canvas

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        if level == "final":
            return (
                TensorSpec("num_dets", "int64", ("N",)),
                TensorSpec("boxes", "float32", ("N", "K", len(self.result_type.form.columns))),
                TensorSpec("scores", "float32", ("N", "K")),
                TensorSpec("labels", "int64", ("N", "K")),
            )
        if level == "decoded":
            classes = len(self.classes)
            return (
                TensorSpec("boxes", "float32", ("N", "P", classes, 4)),
                TensorSpec("scores", "float32", ("N", "P", classes)),
            )
        return ()

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]:
        return [
            DetectionResult(geometry.boxes_to_image(boxes[:count]), scores[:count].copy(), labels[:count].copy())
            for count, boxes, scores, labels, geometry in zip(
                *(outputs[name] for name in ("num_dets", "boxes", "scores", "labels")), geometries, strict=False
            )
        ]
