"""How a deployment of a model that gives masks of the whole image is proved."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from zoo.comparison import Findings, value_range
from zoo.comparison.decision_rule import DecisionRule
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks.detection.proof.agreement import mask_iou
from zoo.tasks.detection.proof.in_image import detections_in_image
from zoo.tasks.detection.proof.slots import compare_slots
from zoo.tasks.instance_masks.proof.comparing import compare_instances
from zoo.tasks.instance_masks.proof.contracts import InstanceMasksFinal
from zoo.tasks.instance_masks.proof.model_output import EITHER_OUTPUT, Judge, instances_of, is_either, judges_of
from zoo.tasks.instance_masks.proof.way_back import way_back_findings
from zoo.tasks.instance_masks.result import InstanceMasksResult
from zoo.tasks.instance_masks.task import boxes_in_tensor
from zoo.tasks.instance_segmentation.proof.instance_segmentation_proof import InstanceSegmentationProof
from zoo.tasks.proof import Arrays, EagerResult, Gates, Rounding, TaskProof
from zoo.tasks.result import Result

# Of all pixels of all masks, by how much the rounding changes a logit. Not the largest: at the edge of an object single
# pixels change much more than the others.
QUANTILE = 0.99


class InstanceMasksProof(InstanceSegmentationProof):
    """Instances are judged by what PyTorch has, see comparing.py; what differs is drawn as of other masks."""

    model_output: ClassVar[str] = EITHER_OUTPUT
    contracts: ClassVar[Mapping[str, Any]] = {"final": InstanceMasksFinal}

    def is_model_output(self, output: object) -> bool:
        """Logits of classes and masks, or instances."""
        return is_either(output)

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: ReferenceInput
    ) -> tuple[Result, Judge]:
        """The instances of what the model gives, and that."""
        output = model(image[None], **forward)
        counts, scores, labels, masks = instances_of(model, output)
        count = int(counts[0])
        in_tensor = boxes_in_tensor(masks[0, :count].numpy(), image.shape[-2:])
        found = detections_in_image(
            {"boxes": Tensor(in_tensor), "scores": scores[0, :count], "labels": labels[0, :count]}, placed
        )
        height, width = image.shape[-2:]
        geometry = Geometry(placed.image, placed.resized, (height, width), placed.offset)
        result = InstanceMasksResult(found.boxes, found.scores, found.labels, masks[0, :count].numpy())
        return result.of_task(self.task, geometry), judges_of(output)[0]

    def logits(self, output: Any, outputs: Arrays) -> list[Judge] | None:
        """What PyTorch has of each image, for instances."""
        return judges_of(output) if "num_dets" in outputs else None

    def explained(self, own: EagerResult, rounded: EagerResult) -> float:
        """How far the rounding moves the logits of masks, where there are as many."""
        if rounded.logits.masks.shape != own.logits.masks.shape:
            return 0.0
        change = np.abs(rounded.logits.masks - own.logits.masks)
        return float(np.quantile(change, QUANTILE)) if change.size else 0.0

    def compare_outputs(
        self,
        level: str,
        reference: Arrays,
        candidate: Arrays,
        gates: Gates,
        rule: DecisionRule,
        logits: list[Judge] | None = None,
    ) -> Findings:
        """Level final by what PyTorch has; the head's own tensors one by one."""
        if level != "final":
            return TaskProof.compare_outputs(self, level, reference, candidate, gates, rule)
        if logits is None:
            raise ValueError("instances cannot be judged without what PyTorch has")

        def compare_image(image: int) -> Findings:
            judge, found = logits[image], self.unpadded(candidate, image)
            return compare_instances(judge, found, gates, near=_near(judge, gates), rule=rule)

        return compare_slots(reference, candidate, compare_image, gates["scores"])

    def compare(
        self,
        expected: EagerResult,
        placed: ReferenceInput,
        result: Any,
        gates: Gates,
        rule: DecisionRule,
        rounding: Rounding | None = None,
    ) -> Findings:
        """Masks in cells of the tensor; what ``rounding`` does to the logits of masks decides nothing.

        Of one and the same tensor, by the gates of the graph comparison, every pixel counts.
        """
        near = max(_near(expected.logits, gates), 0.0 if rounding is None else rounding.explained)
        excuse = self.excuse(expected, placed, gates, rule, rounding)
        pixels = gates.get("pixels", 0.0)
        return compare_instances(expected.logits, result, gates, near=near, pixels=pixels, rule=rule, excuse=excuse)

    def unpadded(self, outputs: Arrays, image: int) -> InstanceMasksResult:
        """The instances of one image of a batch, without boxes: they are made of the masks."""
        count = int(outputs["num_dets"][image])
        scores, labels, masks = (outputs[name][image, :count] for name in ("scores", "labels", "masks"))
        return InstanceMasksResult(np.zeros((count, 4), np.float32), scores, labels, masks != 0)

    def way_back(self, geometry: Geometry, placed: ReferenceInput, gates: Gates) -> Findings:
        """Masks at random and in two corners of the tensor."""
        return way_back_findings(self.task, geometry, placed, gates["boxes"])

    def shared_details(self, one: Any, other: Any, a: int, b: int) -> float:
        """The IoU of the masks."""
        return mask_iou(one.masks[a], other.masks[b])


def _near(judge: Judge, gates: Gates) -> float:
    """How far from 0 a mask's logit decides nothing."""
    return gates["logits"] * value_range(judge.masks) if judge.masks.size else 0.0
