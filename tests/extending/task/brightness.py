"""A task of one's own: how bright is an image? Its result and the task, which production imports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from zoo.tasks import Result, Task, register_task
from zoo.tasks.drawing import draw_text
from zoo.tasks.result import frozen_array
from zoo.tasks.saving import rows_of_json
from zoo.tensor_spec import TensorSpec


@dataclass(frozen=True, eq=False)
class BrightnessResult(Result):
    """`brightness` float32 []: the mean luma of an image, 0..255."""

    brightness: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "brightness", frozen_array(self.brightness, np.float32))


@register_task
class Brightness(Task):
    """One number for each image. There are no classes."""

    name: ClassVar[str] = "brightness"
    metric: ClassVar[str] = "BrightnessError"
    truth: ClassVar[tuple[str, ...]] = ("brightness",)
    result_type: ClassVar[type[Result]] = BrightnessResult
    proof_class: ClassVar[str] = "brightness_proof:BrightnessProof"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    has_classes: ClassVar[bool] = False
    gates: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "graph": {"brightness": 0.01},
        "pipeline": {"brightness": 0.5},
    }

    def __init__(self, classes: Sequence[Any] = ()) -> None:
        super().__init__(classes)

    def amount(self, result: BrightnessResult) -> int:
        return 1

    def caption(self, result: BrightnessResult) -> str:
        return f"brightness {float(result.brightness):.1f}"

    def files(self, image: Any, result: BrightnessResult) -> Iterator[tuple[str, bytes]]:
        yield ".json", rows_of_json([result.to_dict()])

    def _draw(self, image: Any, result: BrightnessResult) -> Any:
        canvas = image.copy()
        draw_text(canvas, self.caption(result), (0, 0), (255, 255, 255))
        return canvas

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        return (TensorSpec("brightness", "float32", ("N",)),) if level == "final" else ()

    def _results(self, outputs: Mapping[str, Any], geometries: Sequence[Any]) -> list[Result]:
        return [BrightnessResult(value) for value, _ in zip(outputs["brightness"], geometries, strict=False)]
