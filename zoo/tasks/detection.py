"""Objects as boxes."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from zoo.preprocess import Geometry
from zoo.structures import DetectionResult, Result
from zoo.tasks.task import Array, Task
from zoo.tensor_spec import TensorSpec


class Detection(Task):
    """Boxes x1 y1 x2 y2 with score and label. Slots past `num_dets` hold zeros, and label -1."""

    name: ClassVar[str] = "detection"
    metric: ClassVar[str] = "CocoBoxAP"

    def draw(self, image: Array, result: Result) -> Array:
        """Boxes in the colour of their class, with name and score; the best lie on top."""
        if not isinstance(result, DetectionResult):
            raise self._wrong_result(result)
        from zoo.tasks.drawing import color, draw_box  # most processes never draw

        canvas = image.copy()
        for box, score, label in reversed(list(zip(result.boxes, result.scores, result.labels.tolist(), strict=True))):
            draw_box(canvas, box, f"{self.class_name(label)} {score:.2f}", color(label))
        return canvas

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        if level == "final":
            return (
                TensorSpec("num_dets", "int64", ("N",)),
                TensorSpec("boxes", "float32", ("N", "K", 4)),
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
