"""A class for every pixel."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import cv2
import numpy as np

from zoo.errors import InputError
from zoo.preprocess import Geometry, Preprocess
from zoo.tasks.class_info import ClassInfo
from zoo.tasks.output_role import OutputRole, Roles
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.saving import png
from zoo.tasks.semantic_segmentation.resized_logits import BYTE_CLASSES, label_map_of
from zoo.tasks.semantic_segmentation.result import SegmentationResult
from zoo.tasks.task import Array, Task
from zoo.tensor_spec import TensorSpec

LABELS, LOGITS = "labels", "logits"
BACKGROUND = "background"
OPACITY = 0.6
NAMED_AREA = 0.002  # of the image; smaller regions are coloured but carry no name


@register_task
class SemanticSegmentation(Task):
    """Label maps with the model's own class ids.

    `resize`: what is resized to the image where the tensor has another size. "labels": the label map, which the graph
    gives, by the nearest pixel. "logits": the graph gives the logits of the tensor, and the host resizes them
    bilinearly (with `align_corners`, where asked for) before it takes the best class, as mmsegmentation does.
    """

    name: ClassVar[str] = "semantic-segmentation"
    metric: ClassVar[str] = "MeanIoU"
    truth: ClassVar[tuple[str, ...]] = ("label_map",)
    chooses_a_class: ClassVar[bool] = True
    result_type: ClassVar[type[Result]] = SegmentationResult
    proof_class: ClassVar[str] = "zoo.tasks.semantic_segmentation.proof:SegmentationProof"
    output_roles: ClassVar[Roles] = {"label_map": OutputRole.LABEL_MAP}
    suffixes: ClassVar[tuple[str, ...]] = (".png",)
    OPTIONS: ClassVar[Mapping[str, type | tuple[str, ...]]] = {"resize": (LABELS, LOGITS), "align_corners": bool}

    def __init__(
        self,
        classes: Iterable[ClassInfo | Mapping[str, Any]],
        *,
        resize: str = LABELS,
        align_corners: bool = False,
    ) -> None:
        super().__init__(classes)
        self.resize, self.align_corners = resize, align_corners
        if align_corners and resize != LOGITS:
            raise InputError(f'task {self.name}: align_corners with resize "{resize}"; give resize="{LOGITS}"')

    def check_preprocess(self, rule: Preprocess) -> None:
        """Raises InputError where logits were to be resized to an image of which the tensor shows the centre alone."""
        if self.resize == LOGITS and rule.crops:
            raise InputError(
                f'task {self.name}: resize="{LOGITS}" with a preprocess that cuts out the centre, beside which there '
                f'are no logits; give resize="{LABELS}"'
            )

    def amount(self, result: SegmentationResult) -> int:
        """Classes."""
        return len(np.unique(result.label_map))

    def caption(self, result: SegmentationResult) -> str:
        """The names of the classes."""
        return f"classes {', '.join(self.class_name(int(label)) for label in np.unique(result.label_map))}"

    def files(self, image: Array, result: SegmentationResult) -> Iterator[tuple[str, bytes]]:
        """The label map: a pixel is the model's own id."""
        label_map = result.label_map
        yield ".png", png(label_map if label_map.dtype == np.uint8 else label_map.astype(np.uint16))

    def _draw(self, image: Array, result: SegmentationResult) -> Array:
        """Each region tinted in the colour of its class and named; the class "background" is left as it is."""
        from zoo.tasks.drawing import color, draw_text, tint  # most processes never draw

        canvas = image.copy()
        names: list[tuple[str, tuple[int, int], int]] = []
        for label in np.unique(result.label_map).tolist():
            if self.class_name(label) == BACKGROUND:
                continue
            mask = result.label_map == label
            tint(canvas, mask, color(label), OPACITY)
            _, _, stats, centers = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
            for (_, _, _, _, area), (x, y) in zip(stats[1:].tolist(), centers[1:].tolist(), strict=True):
                if area >= NAMED_AREA * mask.size:
                    names.append((self.class_name(label), (round(x), round(y)), label))
        for name, center, label in names:
            draw_text(canvas, name, center, color(label), centered=True)
        return canvas

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        if level == "final" and self.resize == LABELS:
            dtype = "uint8" if len(self.classes) <= BYTE_CLASSES else "int32"
            return (TensorSpec("label_map", dtype, ("N", "H", "W")),)
        if level in ("final", "decoded"):
            return (TensorSpec("logits", "float32", ("N", len(self.classes), "H", "W")),)
        return ()

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]:
        if self.resize == LOGITS:
            return [
                SegmentationResult(label_map_of(logits, geometry, align_corners=self.align_corners))
                for logits, geometry in zip(outputs["logits"], geometries, strict=False)
            ]
        return [
            SegmentationResult(geometry.label_map_to_image(label_map))
            for label_map, geometry in zip(outputs["label_map"], geometries, strict=False)
        ]
