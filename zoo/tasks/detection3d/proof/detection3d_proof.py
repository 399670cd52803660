"""How a deployment of a detector of boxes in space is proved: as sets, by overlap from above, yaw modulo a turn."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from torch import Tensor, nn

from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import InputError
from zoo.tasks.detection.proof.detection_proof import DetectionProof
from zoo.tasks.detection.proof.slots import compare_slots
from zoo.tasks.detection3d.bird_eye import BirdEye, draw_heading_box
from zoo.tasks.detection3d.proof.contracts import AnyDetection3DFinal
from zoo.tasks.detection3d.proof.directions import turned_back
from zoo.tasks.detection3d.result import Detection3DResult
from zoo.tasks.detection3d.task import in_range
from zoo.tasks.drawing import Color
from zoo.tasks.proof import Array, Arrays, Difference, EagerResult, Gates, Rounding
from zoo.tasks.result import Result

MARGINS = "direction_margins"
"""Of a model's dictionary, optional: how far apart the two logits of each box's direction are, float32 [n]."""


class Detection3DProof(DetectionProof):
    """Boxes are in the frame of the points on both sides: there is no way back, and nothing is resized."""

    model_output: ClassVar[str] = "a list of detections, boxes [n, 7]"
    contracts: ClassVar[Mapping[str, Any]] = {"final": AnyDetection3DFinal}

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: Any
    ) -> tuple[Result, Any]:
        """By the model's own post-processing, of one cloud [n, 4]; with the margins of the directions."""
        (detections,) = model([image], **forward)
        boxes, scores, labels = (detections[name].numpy() for name in ("boxes", "scores", "labels"))
        return Detection3DResult(in_range(boxes), scores, labels), _margins(detections)

    def logits(self, output: Any, outputs: Arrays) -> Any:
        """The margins of each cloud, in the order of its detections."""
        return [_margins(detections) for detections in output]

    def compare_outputs(
        self,
        level: str,
        reference: Arrays,
        candidate: Arrays,
        gates: Gates,
        rule: DecisionRule,
        logits: Any = None,
    ) -> Findings:
        """As of upright boxes; a box whose direction is open may point the other way."""
        if level != "final" or logits is None:
            return super().compare_outputs(level, reference, candidate, gates, rule, logits)

        def compare_cloud(number: int) -> Findings:
            ours, theirs = self.unpadded(reference, number), self.unpadded(candidate, number)
            return self._compare(ours, theirs, logits[number], gates, rule)

        return compare_slots(reference, candidate, compare_cloud, gates["scores"])

    def compare(
        self,
        expected: EagerResult,
        placed: Any,
        result: Any,
        gates: Gates,
        rule: DecisionRule,
        rounding: Rounding | None = None,
    ) -> Findings:
        """The same of two results."""
        return self._compare(expected.result, result, expected.logits, gates, rule)

    def way_back(self, geometry: Any, placed: Any, gates: Gates) -> Findings | None:
        """There is none."""
        return None

    def in_tensor(self, result: Any, placed: Any) -> Any:
        """The frame of the points is that of the tensor."""
        return result

    def difference(self, image: Array, reference: Any, candidate: Any, gates: Gates) -> Difference:
        """From above; overlaps are the same in pixels."""
        view = BirdEye.of(image)
        ours, theirs = (replace(side, boxes=view.in_pixels(side.boxes)) for side in (reference, candidate))
        return super().difference(view.canvas(image), ours, theirs, gates)

    def outline(self, canvas: Array, box: Array, ink: Color) -> None:
        """Thin, with its heading."""
        draw_heading_box(canvas, box, "", ink, thickness=1)

    def tagged(self, canvas: Array, box: Array, text: str, ink: Color) -> None:
        """With a name tag."""
        draw_heading_box(canvas, box, text, ink)

    def _compare(self, reference: Any, candidate: Any, margins: Any, gates: Gates, rule: DecisionRule) -> Findings:
        turned, borderline = turned_back(reference, candidate, margins, gates)
        findings = self.compare_sets(reference, turned, gates, rule)
        return replace(findings, borderline=(*findings.borderline, *borderline))


def _margins(detections: Mapping[str, Tensor]) -> Any:
    """float32 [n], or None. Raises InputError where there is not one for each box."""
    if MARGINS not in detections:
        return None
    margins = detections[MARGINS].numpy()
    if margins.shape != tuple(detections["scores"].shape):
        raise InputError(
            f"the model's {MARGINS} have the shape {list(margins.shape)}, expected {list(detections['scores'].shape)}, "
            "one for each box"
        )
    return margins
