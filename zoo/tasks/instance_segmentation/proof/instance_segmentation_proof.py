"""How a deployment of a model with masks is proved: as detections, and the masks of each pair."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
from torch import Tensor, nn

from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks.detection.proof.agreement import mask_iou
from zoo.tasks.detection.proof.detection_proof import DetectionProof, Pairs
from zoo.tasks.detection.proof.in_image import boxes_in_image
from zoo.tasks.detection.proof.matching import Details, compare_detections
from zoo.tasks.highlight import highlight
from zoo.tasks.instance_segmentation.proof.contracts import AnyInstanceSegmentationFinal
from zoo.tasks.instance_segmentation.proof.head_masks import head_masks
from zoo.tasks.instance_segmentation.proof.image_masks import ImageMasks, compare_image_masks
from zoo.tasks.instance_segmentation.proof.masks import compare_masks
from zoo.tasks.instance_segmentation.task import InstanceSegmentation
from zoo.tasks.proof import Array, Arrays, Gates
from zoo.tasks.result import Result

IMAGE_MASKS = "image_masks"
INSIDE = 0.5  # probability from which a mask's cell is of the object


class InstanceSegmentationProof(DetectionProof):
    """Masks are compared in the cells of their boxes; pasted ones, where the graph gives them, pixel by pixel."""

    contracts: ClassVar[Mapping[str, Any]] = {"final": AnyInstanceSegmentationFinal}

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: ReferenceInput
    ) -> tuple[Result, Any]:
        """With the masks [n, 28, 28] before they were pasted; their boxes are not clipped, as they are their frames."""
        with head_masks(model) as masks:
            output = model(image[None], **forward)[0]
        boxes = boxes_in_image(output["boxes"], placed).numpy()
        kind = cast("InstanceSegmentation", self.task).own_result_type
        return kind(boxes, output["scores"].numpy(), output["labels"].numpy(), masks[0].numpy()), None

    def way_back(self, geometry: Geometry, placed: ReferenceInput, gates: Gates) -> Findings | None:
        """Nothing: there are no masks for boxes that no image has."""
        return None

    def details(self, reference: Any, candidate: Any, pairs: Pairs, gates: Gates) -> Details:
        """The masks."""
        return compare_masks(reference, candidate, pairs, gates)

    def compare_slots_of(
        self, image: int, reference: Arrays, candidate: Arrays, gates: Gates, rule: DecisionRule
    ) -> Findings:
        """With the pasted masks of the graph, where it gives them."""
        if IMAGE_MASKS not in reference:
            return super().compare_slots_of(image, reference, candidate, gates, rule)
        ours, theirs = self.unpadded(reference, image), self.unpadded(candidate, image)
        pasted = ImageMasks(reference[IMAGE_MASKS][image], candidate[IMAGE_MASKS][image])

        def details(pairs: Pairs) -> Details:
            masks = self.details(ours, theirs, pairs, gates)
            return masks.and_then(compare_image_masks(ours, theirs, pasted, pairs, gates))

        return compare_detections(ours, theirs, gates, rule, details=details)

    def draw_details(self, canvas: Array, reference: Any, candidate: Any, pairs: Pairs) -> str:
        """The pixels in which the masks of a pair differ."""
        height, width = canvas.shape[:2]
        changed = np.zeros((height, width), np.bool_)
        if pairs:
            rows, columns = np.array(pairs).T
            ours, theirs = (side.image_masks(height, width) for side in (reference[rows], candidate[columns]))
            changed = (ours != theirs).any(axis=0)
        highlight(canvas, changed)
        return f"; masks differ in {int(changed.sum())} pixels"

    def shared_details(self, one: Any, other: Any, a: int, b: int) -> float:
        """The IoU of the masks in their boxes."""
        return mask_iou(one.masks[a] >= INSIDE, other.masks[b] >= INSIDE)
