"""How a deployment of a detector of rotated boxes is proved: as that of upright ones, modulo the box's symmetry."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import cv2
import numpy as np
from torch import Tensor, nn

from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.geometry.rotated import rotated_corners
from zoo.geometry.rotated_boxes import is_in_convention, moved
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks.detection.proof.detection_proof import DetectionProof
from zoo.tasks.drawing import Color, draw_quadrilateral
from zoo.tasks.proof import Array, Arrays, EagerResult, Gates, Rounding
from zoo.tasks.result import Result
from zoo.tasks.rotated_detection.proof.contracts import AnyRotatedDetectionFinal
from zoo.tasks.rotated_detection.proof.in_image import detections_in_image
from zoo.tasks.rotated_detection.proof.way_back import way_back_findings
from zoo.tasks.rotated_detection.task import RotatedDetection


class RotatedDetectionProof(DetectionProof):
    """The gate "boxes" holds for the coordinates of the four corners. Both sides keep the convention of the angle."""

    task: RotatedDetection
    contracts: ClassVar[Mapping[str, Any]] = {"final": AnyRotatedDetectionFinal}

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: ReferenceInput
    ) -> tuple[Result, Any]:
        """By the model's own post-processing."""
        return detections_in_image(model(image[None], **forward)[0], placed, self.task.angle), None

    def compare(
        self,
        expected: EagerResult,
        placed: ReferenceInput,
        result: Any,
        gates: Gates,
        rule: DecisionRule,
        rounding: Rounding | None = None,
    ) -> Findings:
        """As of upright boxes; a box that is not in the convention is a fault, whatever rectangle it is."""
        fault = self.convention_fault(expected.result, result)
        return fault or super().compare(expected, placed, result, gates, rule, rounding)

    def compare_slots_of(
        self, image: int, reference: Arrays, candidate: Arrays, gates: Gates, rule: DecisionRule
    ) -> Findings:
        """The same of one image of a batch."""
        fault = self.convention_fault(self.unpadded(reference, image), self.unpadded(candidate, image))
        return fault or super().compare_slots_of(image, reference, candidate, gates, rule)

    def convention_fault(self, reference: Any, candidate: Any) -> Findings | None:
        """Where a box of one side is not in the convention; boxes as the graph, or the deployment, gives them."""
        for side, who in ((reference, "PyTorch"), (candidate, "the backend")):
            boxes = side.finite().boxes
            wrong = np.flatnonzero(~is_in_convention(boxes, self.task.angle))
            if wrong.size:
                box = side.form.text(boxes[wrong[0]], 4)
                return Findings.broken((f"{who}: box [{box}] is not in the convention {self.task.angle}",))
        return None

    def way_back(self, geometry: Geometry, placed: ReferenceInput, gates: Gates) -> Findings | None:
        """Boxes of all directions, also over the edges of the tensor."""
        return way_back_findings(self.task, geometry, placed, gates["boxes"])

    def in_tensor(self, result: Any, placed: ReferenceInput) -> Any:
        """Boxes of the image in pixels of the graph's input."""
        (y, x), (top, left) = placed.tensor_per_image, placed.offset
        return replace(result, boxes=moved(result.boxes, (x, y), (-left / x, -top / y)))

    def outline(self, canvas: Array, box: Array, ink: Color) -> None:
        """Four thin lines."""
        corners = np.rint(rotated_corners(box)).astype(np.int32)
        cv2.polylines(canvas, [corners], isClosed=True, color=ink, thickness=1, lineType=cv2.LINE_AA)

    def tagged(self, canvas: Array, box: Array, text: str, ink: Color) -> None:
        """The box with a name tag."""
        draw_quadrilateral(canvas, rotated_corners(box), text, ink)
