"""How a deployment of a segmentor is proved: pixel by pixel, judged by the logits of PyTorch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from zoo.comparison import Findings, shape_problem
from zoo.comparison.decision_rule import DecisionRule
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.tasks.highlight import faded, highlight
from zoo.tasks.proof import FULL_AGREEMENT, Array, Arrays, Compared, Difference, EagerResult, Gates, Rounding, TaskProof
from zoo.tasks.result import Result
from zoo.tasks.scatter import Point, Scatter
from zoo.tasks.semantic_segmentation.proof.contracts import SegmentationDecoded, SegmentationFinal, SegmentationRaw
from zoo.tasks.semantic_segmentation.proof.label_maps import compare_label_maps
from zoo.tasks.semantic_segmentation.proof.model_logits import model_logits
from zoo.tasks.semantic_segmentation.proof.nearest import nearest_pixels
from zoo.tasks.semantic_segmentation.resized_logits import BYTE_CLASSES
from zoo.tasks.semantic_segmentation.result import SegmentationResult
from zoo.tasks.semantic_segmentation.task import LOGITS

LABEL_MAP = "label_map"
LOGITS_DIMS = 4
# Of an image's pixels, by how much the rounding changes the difference of two logits. Not the largest: beside the edge
# of an object single pixels change a hundred times as much as the others.
QUANTILE = 0.99


class SegmentationProof(TaskProof):
    """Of label maps: a pixel may change its label only where PyTorch's logits were nearly equal."""

    model_output: ClassVar[str] = "a tensor [N, C, H, W]"
    contracts: ClassVar[Mapping[str, Any]] = {
        "final": SegmentationFinal,
        "decoded": SegmentationDecoded,
        "raw": SegmentationRaw,
    }

    @property
    def resizes_logits(self) -> bool:
        """Whether the logits are resized to the image, not the labels: those of an EagerResult have its size then."""
        return self.task.options.get("resize") == LOGITS

    def _resized(self, logits: Tensor, placed: ReferenceInput) -> Tensor:
        """[1, C, H, W] of a tensor -> [1, C, h, w] of its image."""
        height, width = placed.shown
        corners = bool(self.task.options.get("align_corners"))
        return F.interpolate(logits[:, :, :height, :width], placed.image, mode="bilinear", align_corners=corners)

    def is_model_output(self, output: object) -> bool:
        """Logits of every class."""
        return isinstance(output, Tensor) and output.ndim == LOGITS_DIMS

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: ReferenceInput
    ) -> tuple[Result, NDArray[np.float32]]:
        """The best label of the tensor's pixel that is nearest to each pixel of the image, or of its resized logits."""
        output = model_logits(model(image[None], **forward))
        if self.resizes_logits:
            output = self._resized(output, placed)
        logits: NDArray[np.float32] = output[0].numpy()
        labels = logits.argmax(axis=0).astype(np.uint8 if len(logits) <= BYTE_CLASSES else np.int32)
        if self.resizes_logits:
            return SegmentationResult(labels), logits
        (y, _), (x, _) = nearest_pixels(placed)
        return SegmentationResult(labels[np.ix_(y, x)]), logits

    def logits(self, output: Any, outputs: Arrays) -> NDArray[np.float32] | None:
        """Those of the model's own forward, for a label map."""
        if LABEL_MAP not in outputs:
            return None
        logits: NDArray[np.float32] = model_logits(output).cpu().numpy()
        return logits

    def is_blank(self, outputs: Arrays) -> bool:
        """One label everywhere."""
        return LABEL_MAP in outputs and len(np.unique(outputs[LABEL_MAP])) == 1

    def explained(self, own: EagerResult, rounded: EagerResult) -> float:
        """The margin between two logits below which the rounding may change the label of a pixel."""
        assert own.logits is not None
        assert rounded.logits is not None
        return explained_margin(own.logits, rounded.logits)

    def compare_outputs(
        self,
        level: str,
        reference: Arrays,
        candidate: Arrays,
        gates: Gates,
        rule: DecisionRule,
        logits: Array | None = None,
    ) -> Findings:
        """Label maps by the margins of ``logits``; the logits themselves at the other levels."""
        if level != "final" or LABEL_MAP not in reference:
            return super().compare_outputs(level, reference, candidate, gates, rule, logits)
        if logits is None:
            raise ValueError("label maps cannot be judged without PyTorch's logits")
        return compare_label_maps(reference[LABEL_MAP], candidate[LABEL_MAP], logits, gate=gates["logits"])

    def compare(
        self,
        expected: EagerResult,
        placed: ReferenceInput,
        result: Any,
        gates: Gates,
        rule: DecisionRule,
        rounding: Rounding | None = None,
    ) -> Findings:
        """Label maps of the image's size."""
        reference: Any = expected.result
        assert expected.logits is not None
        if problem := shape_problem(LABEL_MAP, reference.label_map, result.label_map):
            return Findings.broken((problem,))
        aligned = self._aligned(expected, placed, result.label_map)
        return compare_label_maps(
            aligned[None],
            result.label_map[None],
            expected.logits[None],
            gate=gates.get("logits"),
            pixels=gates.get("pixels"),
            explained=0.0 if rounding is None else rounding.explained,
            places=None if self.resizes_logits else nearest_pixels(placed),
        )

    def aligned(self, expected: EagerResult, placed: ReferenceInput, result: Any) -> Result:
        """With the backend's label where two pixels of the tensor are equally near."""
        reference: Any = expected.result
        if reference.label_map.shape != result.label_map.shape:
            return expected.result
        return SegmentationResult(self._aligned(expected, placed, result.label_map))

    def _aligned(self, expected: EagerResult, placed: ReferenceInput, label_map: Array) -> Array:
        """PyTorch's label map; of nearest pixels as the backend chose, where several are right."""
        if self.resizes_logits:
            reference: Any = expected.result
            whole: Array = reference.label_map
            return whole
        return nearest_label_map(expected, placed, label_map)

    def difference(self, image: Array, reference: Any, candidate: Any, gates: Gates) -> Difference:
        """The pixels that have another class."""
        canvas = faded(image)
        if reference.label_map.shape != candidate.label_map.shape:
            return Difference(canvas, "label maps of two sizes")
        changed = reference.label_map != candidate.label_map
        if not changed.any():
            return Difference(None, f"all {changed.size} pixels have the same class")
        highlight(canvas, changed)
        return Difference(canvas, f"{int(changed.sum())} of {changed.size} pixels have another class")

    def scatter(self, pairs: Sequence[Compared], gates: Gates) -> Scatter:
        """The pixels of each class in each image."""
        points, same, total = [], 0, 0
        for image in pairs:
            theirs = image.candidate.label_map
            if theirs.shape != image.placed.image:
                continue  # parity has failed, and says why
            ours = self._aligned(image.reference, image.placed, theirs)
            counts = [Counter(side.ravel().tolist()) for side in (ours, theirs)]
            points += [
                Point(image.name, self.task.class_name(label), float(counts[0][label]), float(counts[1][label]))
                for label in sorted(counts[0] | counts[1])
            ]
            same += int((ours == theirs).sum())
            total += ours.size
        words = f"The pixels of each class in each image; {same} of {total} pixels have the same class on both sides"
        return Scatter("pixels of a class", words, tuple(points), "Pixels of each class")

    def agreement(self, expected: Sequence[Any], candidates: Sequence[Any]) -> float:
        """The mean IoU of the labels that either has."""
        sides = [np.concatenate([one.label_map.ravel() for one in side]) for side in (expected, candidates)]
        one, other = sides
        ious = [
            int(((one == label) & (other == label)).sum()) / int(((one == label) | (other == label)).sum())
            for label in np.union1d(one, other)
        ]
        return FULL_AGREEMENT * float(np.mean(ious))


def explained_margin(own: NDArray[Any], rounded: NDArray[Any]) -> float:
    """The margin below which the rounding of the input may change the label of a pixel.

    ``own``, ``rounded``: logits [C, H, W] of the reference's own tensor and of a rounded one. What all but one in a
    hundred pixels keep: the change of the difference of any two logits.
    """
    change = rounded.astype(np.float64) - own
    spread = change.max(axis=0) - change.min(axis=0)
    return float(np.quantile(spread, QUANTILE)) if spread.size else 0.0


def nearest_label_map(expected: EagerResult, placed: ReferenceInput, label_map: NDArray[Any]) -> NDArray[Any]:
    """PyTorch's label map [h, w] of a segmentation, compared with the backend's ``label_map`` of the same shape.

    Where two pixels of the tensor are equally near to one of the image, either label is right: there it is the
    backend's where one of the two is.
    """
    reference: Any = expected.result
    assert expected.logits is not None
    ours: NDArray[Any] = reference.label_map
    labels = expected.logits.argmax(axis=0).astype(ours.dtype)
    rows, columns = nearest_pixels(placed)
    for y in rows:
        for x in columns:
            either = labels[np.ix_(y, x)]
            ours = np.where(label_map == either, either, ours)
    return ours
