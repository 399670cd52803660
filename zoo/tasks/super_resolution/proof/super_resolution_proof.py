"""How a deployment of a super-resolution model is proved: value by value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import cv2
import numpy as np
import torch
from torch import Tensor, nn

from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.tasks.highlight import faded
from zoo.tasks.proof import FULL_AGREEMENT, Array, Compared, Difference, EagerResult, Gates, Rounding, TaskProof
from zoo.tasks.result import Result
from zoo.tasks.scatter import Histogram
from zoo.tasks.super_resolution.proof.contracts import SuperResolutionFinal
from zoo.tasks.super_resolution.proof.restored_images import compare_restored
from zoo.tasks.super_resolution.result import SuperResolutionResult

WHITE = 255
SAME_LEVELS = 2  # grey levels: values that are no further apart are the same to the eye
IMAGE_DIMS = 4


class SuperResolutionProof(TaskProof):
    """Of enlarged images."""

    model_output: ClassVar[str] = "a tensor [N, C, H, W]"
    contracts: ClassVar[Mapping[str, Any]] = {"final": SuperResolutionFinal}

    def is_model_output(self, output: object) -> bool:
        """Enlarged images."""
        return isinstance(output, Tensor) and output.ndim == IMAGE_DIMS

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: ReferenceInput
    ) -> tuple[Result, None]:
        """The enlarged tensor [3, H * s, W * s] as bytes, BGR, without what was enlarged of the padding."""
        enlarged = model(image[None], **forward)[0]
        scale = enlarged.shape[1] // placed.tensor.shape[2]
        height, width = placed.image
        levels = (enlarged[:, : height * scale, : width * scale].clamp(0, 1) * WHITE).round().to(torch.uint8)
        return SuperResolutionResult(levels.flip(0).permute(1, 2, 0).contiguous().numpy()), None

    def compare(
        self,
        expected: EagerResult,
        placed: ReferenceInput,
        result: Any,
        gates: Gates,
        rule: DecisionRule,
        rounding: Rounding | None = None,
    ) -> Findings:
        """Images as bytes."""
        reference: Any = expected.result
        return compare_restored(reference.image, result.image, gates["grey_levels"], gates["psnr"])

    def difference(self, image: Array, reference: Any, candidate: Any, gates: Gates) -> Difference:
        """Differences in grey levels, made as bright as they can be."""
        if reference.image.shape != candidate.image.shape:
            return Difference(faded(reference.image), "images of two sizes")
        apart = cv2.absdiff(reference.image, candidate.image).max(axis=2)
        largest = int(apart.max(initial=0))
        if not largest:
            return Difference(None, "all pixels are equal")
        factor = WHITE // largest
        drawing = cv2.applyColorMap((apart * factor).astype(np.uint8), cv2.COLORMAP_INFERNO)
        words = f"{int((apart > 0).sum())} of {apart.size} pixels differ, by {largest} of 255 grey levels at most"
        return Difference(drawing, f"{words} (drawn {factor} times as strong)")

    def scatter(self, pairs: Sequence[Compared], gates: Gates) -> Histogram:
        """How many values of all images are how many grey levels apart."""
        counted: Counter[int] = Counter()
        for pair in pairs:
            ours: Any = pair.reference.result
            if ours.image.shape == pair.candidate.image.shape:
                levels, numbers = np.unique(cv2.absdiff(ours.image, pair.candidate.image), return_counts=True)
                counted.update(dict(zip(levels.tolist(), numbers.tolist(), strict=True)))
        counts = dict(sorted(counted.items()))
        words = (
            f"{counts.get(0, 0)} of {sum(counts.values())} values (each pixel has three) are equal, the others up to "
            f"{max(counts, default=0)} grey levels apart"
        )
        return Histogram(counts, "grey levels of 255", words, "Pixel errors")

    def agreement(self, expected: Sequence[Any], candidates: Sequence[Any]) -> float:
        """The part of the values within SAME_LEVELS."""
        same = total = 0
        for one, other in zip(expected, candidates, strict=True):
            error = np.abs(one.image.astype(np.int16) - other.image.astype(np.int16))
            same += int((error <= SAME_LEVELS).sum())
            total += error.size
        return FULL_AGREEMENT * same / total if total else FULL_AGREEMENT
