"""How a deployment of a model whose queries have masks is proved."""

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
from zoo.tasks.instance_masks.proof.instances import instances
from zoo.tasks.instance_masks.proof.queries import CLASSES, MASKS, MODEL_OUTPUT, Queries, are_queries, queries_of
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
    """Instances are judged by PyTorch's own queries, see comparing.py; what differs is drawn as of other masks."""

    model_output: ClassVar[str] = MODEL_OUTPUT
    contracts: ClassVar[Mapping[str, Any]] = {"final": InstanceMasksFinal}

    def is_model_output(self, output: object) -> bool:
        """Logits of classes and masks."""
        return are_queries(output)

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: ReferenceInput
    ) -> tuple[Result, Queries]:
        """The instances of the model's own queries, and those."""
        output = model(image[None], **forward)
        counts, scores, labels, masks = instances(output[CLASSES], output[MASKS])
        count = int(counts[0])
        in_tensor = boxes_in_tensor(masks[0, :count].numpy(), image.shape[-2:])
        found = detections_in_image(
            {"boxes": Tensor(in_tensor), "scores": scores[0, :count], "labels": labels[0, :count]}, placed
        )
        height, width = image.shape[-2:]
        geometry = Geometry(placed.image, placed.resized, (height, width), placed.offset)
        result = InstanceMasksResult(found.boxes, found.scores, found.labels, masks[0, :count].numpy())
        return result.of_task(self.task, geometry), queries_of(output)[0]

    def logits(self, output: Any, outputs: Arrays) -> list[Queries] | None:
        """The queries of each image, for instances."""
        return queries_of(output) if "num_dets" in outputs else None

    def explained(self, own: EagerResult, rounded: EagerResult) -> float:
        """How far the rounding moves the logits of masks."""
        change = np.abs(rounded.logits.masks - own.logits.masks)
        return float(np.quantile(change, QUANTILE)) if change.size else 0.0

    def compare_outputs(
        self,
        level: str,
        reference: Arrays,
        candidate: Arrays,
        gates: Gates,
        rule: DecisionRule,
        logits: list[Queries] | None = None,
    ) -> Findings:
        """Level final by PyTorch's queries; the head's own tensors one by one."""
        if level != "final":
            return TaskProof.compare_outputs(self, level, reference, candidate, gates, rule)
        if logits is None:
            raise ValueError("instances cannot be judged without PyTorch's queries")

        def compare_image(image: int) -> Findings:
            queries, found = logits[image], self.unpadded(candidate, image)
            return compare_instances(queries, found, gates, near=_near(queries, gates))

        return compare_slots(reference, candidate, compare_image)

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
        return compare_instances(expected.logits, result, gates, near=near, pixels=pixels, excuse=excuse)

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


def _near(queries: Queries, gates: Gates) -> float:
    """How far from 0 a mask's logit decides nothing."""
    return gates["logits"] * value_range(queries.masks)
