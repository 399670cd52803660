"""Larger images with the details that the small ones have lost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import cv2
import numpy as np

from zoo.errors import InputError
from zoo.preprocess import MAX_BYTE, Geometry, Preprocess
from zoo.tasks.class_info import ClassInfo
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.saving import png
from zoo.tasks.super_resolution.result import SuperResolutionResult
from zoo.tasks.task import Array, Task
from zoo.tensor_spec import TensorSpec

BICUBIC, MODEL = "bicubic", "model"
PAPER = (32, 32, 32)


@register_task
class SuperResolution(Task):
    """Images enlarged s times; s is the model's, or an input `scale` of the graph. There are no classes."""

    name: ClassVar[str] = "super-resolution"
    metric: ClassVar[str] = "ImageQuality"
    truth: ClassVar[tuple[str, ...]] = ("target",)
    result_type: ClassVar[type[Result]] = SuperResolutionResult
    proof_class: ClassVar[str] = "zoo.tasks.super_resolution.proof:SuperResolutionProof"
    suffixes: ClassVar[tuple[str, ...]] = (".png",)
    has_classes: ClassVar[bool] = False
    learns_own_data: ClassVar[bool] = False

    def __init__(self, classes: Iterable[ClassInfo | Mapping[str, Any]] = ()) -> None:
        super().__init__(classes)

    def check_preprocess(self, rule: Preprocess) -> None:
        """Raises InputError where images would be resized before they are enlarged."""
        if rule.resize != "keep":
            raise InputError(
                f'preprocess resize "{rule.resize}" with task {self.name}: the result would be that of another image; '
                'give preprocess=dict(resize="keep", size_divisor=1) and ranges for height and width'
            )

    def amount(self, result: SuperResolutionResult) -> int:
        """A restored image has all there is to have."""
        return 1

    def caption(self, result: SuperResolutionResult) -> str:
        """Its size."""
        return result.summary()

    def files(self, image: Array, result: SuperResolutionResult) -> Iterator[tuple[str, bytes]]:
        """The enlarged image."""
        yield ".png", png(result.image)

    def _draw(self, image: Array, result: SuperResolutionResult) -> Array:
        """The enlarged image: its left half by bicubic interpolation (OpenCV's), its right half the result."""
        from zoo.tasks.drawing import draw_text  # most processes never draw

        height, width = result.image.shape[:2]
        canvas = cv2.resize(image, (width, height), interpolation=cv2.INTER_CUBIC)
        canvas[:, width // 2 :] = result.image[:, width // 2 :]
        draw_text(canvas, BICUBIC, (0, height), PAPER)
        draw_text(canvas, MODEL, (width, height), PAPER)
        return canvas

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        if level == "final":
            return (TensorSpec("image", "float32", ("N", 3, "sH", "sW")),)
        return ()

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]:
        return [
            SuperResolutionResult(_bytes(_image_part(enlarged, geometry)))
            for enlarged, geometry in zip(outputs["image"], geometries, strict=False)
        ]


def _image_part(enlarged: Array, geometry: Geometry) -> Array:
    """The part of an enlarged tensor [3, H * s, W * s] that is the image. InputError where that was resized."""
    if geometry.resized_size != geometry.image_size:
        raise InputError(
            f"super-resolution of an image of {geometry.image_size} that was first resized to {geometry.resized_size}: "
            'expected the image as it is; give the preprocessing resize="keep"'
        )
    scale = enlarged.shape[1] // geometry.tensor_size[0]
    height, width = geometry.image_size
    part: Array = enlarged[:, : height * scale, : width * scale]
    return part


def _bytes(enlarged: Array) -> Array:
    """Float [3, h, w], RGB, 0..1 -> uint8 [h, w, 3] BGR, rounded. A new array."""
    levels = np.rint(np.clip(enlarged, 0, 1) * np.float32(MAX_BYTE)).astype(np.uint8)
    return np.ascontiguousarray(levels[::-1].transpose(1, 2, 0))
