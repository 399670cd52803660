"""What a deploy and an evaluation of brightness need: the proof, a model, a data set and the metric."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from brightness import BrightnessResult
from torch import Tensor, nn

from zoo.comparison import Findings, figure, gate_failure
from zoo.datasets import ImageFolder
from zoo.metrics import Metric
from zoo.registry import DATASETS, METRICS, MODELS
from zoo.tasks.contract import Contract
from zoo.tasks.proof import Difference, TaskProof
from zoo.tasks.scatter import Point, Scatter

WHITE = 255.0
LUMA = (0.299, 0.587, 0.114)  # of red, green and blue


class BrightnessFinal(Contract):
    """-> brightness float32 [N], 0..255."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return (self.model(images, **self.forward_options) * WHITE,)


class BrightnessProof(TaskProof):
    """The same number within a gate."""

    model_output: ClassVar[str] = "a tensor [N]"
    contracts: ClassVar[Mapping[str, Any]] = {"final": BrightnessFinal}

    def is_model_output(self, output: object) -> bool:
        return isinstance(output, Tensor) and output.ndim == 1

    def eager_result(self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: Any) -> Any:
        return BrightnessResult(model(image[None], **forward)[0].numpy() * WHITE), None

    def compare_outputs(self, level: str, reference: Any, candidate: Any, gates: Any, *_: Any) -> Findings:
        return self._compare(reference["brightness"], candidate["brightness"], gates)

    def compare(self, expected: Any, placed: Any, result: Any, gates: Any, *_: Any) -> Findings:
        return self._compare(expected.result.brightness, result.brightness, gates)

    def difference(self, image: Any, reference: Any, candidate: Any, gates: Any) -> Difference:
        return Difference(image.copy(), f"{float(abs(reference.brightness - candidate.brightness)):.3g} apart")

    def scatter(self, pairs: Any, gates: Any) -> Scatter:
        points = [
            Point(pair.name, "image", float(pair.reference.result.brightness), float(pair.candidate.brightness))
            for pair in pairs
        ]
        return Scatter("brightness", "One point for each image", tuple(points), "Brightness")

    def agreement(self, expected: Any, candidates: Any) -> float:
        apart = [abs(float(a.brightness) - float(b.brightness)) for a, b in zip(expected, candidates, strict=True)]
        return 100.0 * (1.0 - float(np.mean(apart)) / WHITE)

    def _compare(self, reference: Any, candidate: Any, gates: Any) -> Findings:
        error = figure("brightness", np.asarray(reference), np.asarray(candidate), gate=gates["brightness"])
        return Findings((error,), matched=error.count, failures=() if error.passed else (gate_failure(error),))


@MODELS.register_module()
class MeanLuma(nn.Module):
    """images float32 [N, 3, H, W], RGB, 0..1 -> their mean luma, [N], 0..1."""

    def __init__(self) -> None:
        super().__init__()
        self.luma = nn.Conv2d(3, 1, 1, bias=False)
        self.luma.weight.data = torch.tensor(LUMA).view(1, 3, 1, 1)

    def forward(self, images: Tensor) -> Tensor:
        mean: Tensor = self.luma(images).mean(dim=(1, 2, 3))
        return mean


@DATASETS.register_module()
class BrightnessFolder(ImageFolder):
    """The images of a folder; an item's "brightness" is the mean luma of its pixels."""

    def _truth(self, index: int) -> dict[str, Any]:
        bgr = self.image_item(index)["image"].mean(axis=(0, 1))
        return {"brightness": float(bgr @ np.array(LUMA[::-1]))}


@METRICS.register_module()
class BrightnessError(Metric):
    """Points 0..100: 100 where every brightness is right, one less for each hundredth of white that it is off."""

    default_prefix = "brightness"
    main: ClassVar[str] = "right"
    truth: ClassVar[tuple[str, ...]] = ("brightness",)

    def entry(self, item: Mapping[str, Any], result: Any) -> float:
        return abs(float(self.field(item, "brightness")) - float(self.field(result, "brightness")))

    def figures(self, entries: Sequence[float]) -> dict[str, float]:
        return {"right": 100.0 - 100.0 * float(np.mean(entries)) / WHITE}

    def resampled(self, per_image: Sequence[float], counts: Any) -> Any:
        return 100.0 - 100.0 * (counts @ np.asarray(per_image)) / counts.sum(axis=1) / WHITE
