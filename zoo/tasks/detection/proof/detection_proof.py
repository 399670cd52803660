"""How a deployment of a detector is proved: detections are compared as sets, and drawn as boxes."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, cast

import cv2
import numpy as np
from torch import Tensor, nn

from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.comparison.rows import compare_rows
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks.detection.proof.agreement import agreement
from zoo.tasks.detection.proof.contracts import AnyDetectionFinal
from zoo.tasks.detection.proof.in_image import detections_in_image
from zoo.tasks.detection.proof.matching import Details, Excuse, compare_detections, pair_detections
from zoo.tasks.detection.proof.slots import PROPOSALS, compare_slots, row_gate
from zoo.tasks.detection.proof.way_back import way_back_findings
from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.drawing import Color, draw_box
from zoo.tasks.highlight import BOTH, CANDIDATE, REFERENCE, faded
from zoo.tasks.proof import Array, Arrays, Compared, Difference, EagerResult, Gates, Rounding, TaskProof
from zoo.tasks.result import Result
from zoo.tasks.scatter import Point, Scatter

EXPLAINED = "PyTorch moves as many when its input is rounded otherwise"
ALWAYS = 2  # detections that a rounding may move though none was seen to, but no more than half of them
Pairs = Sequence[tuple[int, int]]


class DetectionProof(TaskProof):
    """Of detections, and of those with more (masks, keypoints): a subclass compares that in `details`."""

    model_output: ClassVar[str] = "a list of detections"
    contracts: ClassVar[Mapping[str, Any]] = {"final": AnyDetectionFinal}

    def is_model_output(self, output: object) -> bool:
        """torchvision's list of one dictionary an image."""
        return isinstance(output, list)

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: ReferenceInput
    ) -> tuple[Result, Any]:
        """By the model's own post-processing."""
        return detections_in_image(model(image[None], **forward)[0], placed), None

    def is_blank(self, outputs: Arrays) -> bool:
        """No detections, where the graph counts them."""
        return "num_dets" in outputs and not outputs["num_dets"].any()

    def compare_outputs(
        self,
        level: str,
        reference: Arrays,
        candidate: Arrays,
        gates: Gates,
        rule: DecisionRule,
        logits: Any = None,
    ) -> Findings:
        """Level final as sets, level decoded row by row in any order; the head's own tensors one by one."""
        if level in ("final", "plugin"):
            return compare_slots(
                *(reference, candidate),
                lambda image: self.compare_slots_of(image, reference, candidate, gates, rule),
                gates["scores"],
            )
        if level == "decoded" or PROPOSALS in reference:
            form = self.result_type.form
            bounds = {name: row_gate(name, reference[name], gates, form) for name in reference}
            return compare_rows(reference, candidate, bounds)
        return super().compare_outputs(level, reference, candidate, gates, rule, logits)

    def compare(
        self,
        expected: EagerResult,
        placed: ReferenceInput,
        result: Any,
        gates: Gates,
        rule: DecisionRule,
        rounding: Rounding | None = None,
    ) -> Findings:
        """Box errors are counted in pixels of the graph's input.

        About as many detections may be further apart than the gates, or without a partner, as ``rounding`` moves (the
        gate "moved").
        """
        own_result: Any = expected.result
        excuse = self.excuse(expected, placed, gates, rule, rounding)
        return self.compare_sets(
            self.in_tensor(own_result, placed), self.in_tensor(result, placed), gates, rule, excuse
        )

    def excuse(
        self, expected: EagerResult, placed: ReferenceInput, gates: Gates, rule: DecisionRule, rounding: Rounding | None
    ) -> Excuse | None:
        """What the rounding of the input explains: so many differences, by the gate "moved"."""
        if rounding is None:
            return None
        own_result: Any = expected.result
        moved = [self.compare(expected, placed, other, gates, rule).differences for other in rounding.results]
        return Excuse(EXPLAINED, max(1, min(ALWAYS, len(own_result) // 2)) + int(gates["moved"] * max(moved)))

    def compare_sets(
        self, reference: Any, candidate: Any, gates: Gates, rule: DecisionRule, excuse: Excuse | None = None
    ) -> Findings:
        """Two results whose boxes are in pixels of the graph's input."""
        return compare_detections(
            reference, candidate, gates, rule, excuse, lambda pairs: self.details(reference, candidate, pairs, gates)
        )

    def way_back(self, geometry: Geometry, placed: ReferenceInput, gates: Gates) -> Findings | None:
        """Boxes over all edges of the tensor."""
        return way_back_findings(self.task, geometry, placed, gates["boxes"])

    def difference(self, image: Array, reference: Any, candidate: Any, gates: Gates) -> Difference:
        """What both found is thin and grey, so that nothing but a difference catches the eye."""
        if not len(reference) and not len(candidate):
            return Difference(None, "neither side found an object")
        canvas = faded(image)
        pairs = pair_detections(reference, candidate, gates)
        words = self.draw_details(canvas, reference, candidate, pairs)
        for one, _ in pairs:
            self.outline(canvas, reference.boxes[one], BOTH)
        self._draw_unpaired(canvas, "PyTorch", reference, {one for one, _ in pairs}, REFERENCE)
        self._draw_unpaired(canvas, "backend", candidate, {other for _, other in pairs}, CANDIDATE)
        only = [len(reference) - len(pairs), len(candidate) - len(pairs)]
        both = f"{len(pairs)} object{'s' * (len(pairs) != 1)} found by both"
        return Difference(canvas, f"{both}, {only[0]} only by PyTorch, {only[1]} only by the backend{words}")

    def scatter(self, pairs: Sequence[Compared], gates: Gates) -> Scatter:
        """The scores of what both found."""
        points, alone = [], 0
        for image in pairs:
            reference: Any = image.reference.result
            ours, theirs = reference.finite(), image.candidate.finite()
            matched = pair_detections(self.in_tensor(ours, image.placed), self.in_tensor(theirs, image.placed), gates)
            alone += len(ours) + len(theirs) - 2 * len(matched)
            points += [
                Point(
                    image.name,
                    self.task.class_name(int(ours.labels[one])),
                    float(ours.scores[one]),
                    float(theirs.scores[other]),
                )
                for one, other in matched
            ]
        words = f"{len(points)} detections that both found, of all scores; {alone} that only one side found"
        return Scatter("score", words, tuple(points), "Scores")

    def agreement(self, expected: Sequence[Any], candidates: Sequence[Any]) -> float:
        """See agreement.py."""
        return agreement(expected, candidates, self.shared_details)

    def details(self, reference: Any, candidate: Any, pairs: Pairs, gates: Gates) -> Details:
        """The comparison of what pairs have beside boxes and scores; boxes in pixels of the graph's input."""
        return Details()

    def draw_details(self, canvas: Array, reference: Any, candidate: Any, pairs: Pairs) -> str:
        """Draw where what pairs have beside boxes differs, and say how much; "" for nothing."""
        return ""

    def shared_details(self, one: Any, other: Any, a: int, b: int) -> float:
        """How much of what a pair has beside its boxes is the same, 0..1."""
        return 1.0

    def in_tensor(self, result: Any, placed: ReferenceInput) -> Any:
        """Boxes of the image in pixels of the graph's input."""
        (y, x), (top, left) = placed.tensor_per_image, placed.offset
        offset = np.array((left, top, left, top), np.float32)
        return replace(result, boxes=result.boxes * np.array((x, y, x, y), np.float32) - offset)

    def outline(self, canvas: Array, box: Array, ink: Color) -> None:
        """Draw a thin box."""
        x1, y1, x2, y2 = (round(float(side)) for side in box)
        cv2.rectangle(canvas, (x1, y1), (x2, y2), ink, 1, cv2.LINE_AA)

    def tagged(self, canvas: Array, box: Array, text: str, ink: Color) -> None:
        """Draw a box with a name tag."""
        draw_box(canvas, box, text, ink)

    def unpadded(self, outputs: Arrays, image: int) -> Any:
        """The detections of one image of a batch, in pixels of the graph's input."""
        count = int(outputs["num_dets"][image])
        kind = self.result_type
        return kind(**{field.name: outputs[field.name][image, :count] for field in fields(kind)})

    @property
    def result_type(self) -> type[DetectionResult]:
        """Of the task's results."""
        return cast("type[DetectionResult]", self.task.result_type)

    def compare_slots_of(
        self, image: int, reference: Arrays, candidate: Arrays, gates: Gates, rule: DecisionRule
    ) -> Findings:
        """The sets of one image of a batch."""
        return self.compare_sets(self.unpadded(reference, image), self.unpadded(candidate, image), gates, rule)

    def _draw_unpaired(self, canvas: Array, who: str, side: DetectionResult, paired: set[int], ink: Color) -> None:
        for index in sorted(set(range(len(side))) - paired):
            name = self.task.class_name(int(side.labels[index]))
            self.tagged(canvas, side.boxes[index], f"only {who}: {name} {side.scores[index]:.2f}", ink)
