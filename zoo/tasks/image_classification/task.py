"""One class for a whole image."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import cv2
import numpy as np

from zoo.preprocess import Geometry
from zoo.tasks.image_classification.result import TOP, ClassificationResult
from zoo.tasks.output_role import OutputRole, Roles
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.saving import rows_of_json
from zoo.tasks.task import Array, Task
from zoo.tensor_spec import TensorSpec

DRAWN_SIDE = 160  # pixels: a smaller image is enlarged, so that its classes can be read
LINE = 18  # pixels


@register_task
class ImageClassification(Task):
    """A probability for each class. The model gives logits; softmax is inside the graph."""

    name: ClassVar[str] = "image-classification"
    metric: ClassVar[str] = "Accuracy"
    chooses_a_class: ClassVar[bool] = True
    result_type: ClassVar[type[Result]] = ClassificationResult
    proof_class: ClassVar[str] = "zoo.tasks.image_classification.proof:ClassificationProof"
    output_roles: ClassVar[Roles] = {"scores": OutputRole.SCORES}
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    truth: ClassVar[tuple[str, ...]] = ("label",)

    def amount(self, result: ClassificationResult) -> int:
        """Every image has a class."""
        return 1

    def caption(self, result: ClassificationResult) -> str:
        """The best classes."""
        return ", ".join(self._lines(result))

    def files(self, image: Array, result: ClassificationResult) -> Iterator[tuple[str, bytes]]:
        """The best TOP classes as data, best first."""
        yield ".json", rows_of_json(result.best(self.class_name))

    def _lines(self, result: ClassificationResult) -> list[str]:
        best = zip(result.labels[:TOP].tolist(), result.scores[:TOP].tolist(), strict=True)
        return [f"{self.class_name(label)} {score:.2f}" for label, score in best]

    def _draw(self, image: Array, result: ClassificationResult) -> Array:
        """The best TOP classes in the upper left corner, with their scores. A small image is enlarged."""
        from zoo.tasks.drawing import color, draw_text  # most processes never draw

        canvas = readable(image)
        for number, (line, label) in enumerate(zip(self._lines(result), result.labels[:TOP].tolist(), strict=True), 1):
            draw_text(canvas, line, (0, number * LINE), color(label))
        return canvas

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        name = {"final": "scores", "decoded": "logits"}.get(level)
        return () if name is None else (TensorSpec(name, "float32", ("N", len(self.classes))),)

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]:
        return [ClassificationResult.of(scores) for scores, _ in zip(outputs["scores"], geometries, strict=False)]


def readable(image: Array) -> Array:
    """A copy of uint8 [h, w, 3], enlarged by a whole factor until its shorter side has DRAWN_SIDE pixels."""
    height, width = image.shape[:2]
    factor = -(-DRAWN_SIDE // min(height, width))
    if factor <= 1:
        return image.copy()
    return np.ascontiguousarray(cv2.resize(image, (width * factor, height * factor), interpolation=cv2.INTER_NEAREST))
