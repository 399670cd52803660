"""How a deployment of a model with keypoints is proved: as detections, and the keypoints of each pair."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks.detection.proof.detection_proof import DetectionProof, Pairs
from zoo.tasks.detection.proof.in_image import detections_in_image
from zoo.tasks.detection.proof.matching import Details
from zoo.tasks.keypoint_detection.proof.contracts import AnyKeypointDetectionFinal
from zoo.tasks.keypoint_detection.proof.keypoints import compare_keypoints
from zoo.tasks.keypoint_detection.result import KeypointResult
from zoo.tasks.proof import Gates
from zoo.tasks.result import Result

NEAR = 0.05  # of the box's diagonal: how far a keypoint may move


class KeypointProof(DetectionProof):
    """Keypoints are compared by their place, and by the heatmap's value there."""

    contracts: ClassVar[Mapping[str, Any]] = {"final": AnyKeypointDetectionFinal}

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: ReferenceInput
    ) -> tuple[Result, None]:
        """With torchvision's keypoints x, y and their scores."""
        output = model([image], **forward)[0]
        detections = detections_in_image(output, placed)
        (y, x), (top, left) = placed.tensor_per_image, placed.offset
        places = (output["keypoints"][..., :2] + torch.tensor((left, top))) / torch.tensor((x, y))
        points = torch.cat([places, output["keypoints_scores"][..., None]], dim=-1)
        return KeypointResult(detections.boxes, detections.scores, detections.labels, points.numpy()), None

    def way_back(self, geometry: Geometry, placed: ReferenceInput, gates: Gates) -> None:
        """Nothing: there are no keypoints for boxes that no image has."""
        return

    def details(self, reference: Any, candidate: Any, pairs: Pairs, gates: Gates) -> Details:
        """The keypoints."""
        return compare_keypoints(reference, candidate, pairs, gates)

    def shared_details(self, one: Any, other: Any, a: int, b: int) -> float:
        """The part of the keypoints that are near to each other."""
        left, top, right, bottom = one.boxes[a]
        moved = np.linalg.norm(one.keypoints[a, :, :2] - other.keypoints[b, :, :2], axis=1)
        if not moved.size:
            return 1.0
        return float(np.mean(moved <= NEAR * np.hypot(right - left, bottom - top)))

    def in_tensor(self, result: Any, placed: ReferenceInput) -> Any:
        """Boxes and keypoints of the image in pixels of the graph's input."""
        (y, x), (top, left) = placed.tensor_per_image, placed.offset
        moved = super().in_tensor(result, placed)
        places = moved.keypoints * np.array((x, y, 1), np.float32) - np.array((left, top, 0), np.float32)
        return replace(moved, keypoints=places)
