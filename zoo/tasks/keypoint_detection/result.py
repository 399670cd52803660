"""The objects found in one image, each with its keypoints."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.optional_library import optional_library
from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.result import plain

KEYPOINT_DIMS = 3


@dataclass(frozen=True, eq=False, repr=False)
class KeypointResult(DetectionResult):
    """A DetectionResult with `keypoints` float32 [n, P, 3]: x and y in pixels of the image, and a score.

    The score is what the model's heatmap holds there, a logit: higher is surer, and it may be below 0.
    """

    columns: ClassVar[Mapping[str, str]] = {**DetectionResult.columns, "keypoints": "list of lists"}

    keypoints: NDArray[np.float32]

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = self.keypoints.shape
        if len(shape) != KEYPOINT_DIMS or shape[0] != len(self) or shape[2] != KEYPOINT_DIMS:
            raise InputError(f"detections: got keypoints {list(shape)}, expected [{len(self)}, P, 3]")

    def to_coco(self, image_id: int) -> list[dict[str, Any]]:
        """COCO's results: {image_id, category_id, score, keypoints [x1, y1, score1, x2, ...]}; without boxes."""
        return self._coco(
            image_id, keypoints=plain(self.keypoints.reshape(len(self), math.prod(self.keypoints.shape[1:])))
        )

    def to_supervision(self) -> Any:
        """`supervision.KeyPoints`, with the names of classes as data["class_name"]."""
        return optional_library("supervision", "supervision", "to_supervision()").KeyPoints(
            xy=self.keypoints[:, :, :2].copy(),
            keypoint_confidence=self.keypoints[:, :, 2].copy(),
            detection_confidence=self.scores.copy(),
            class_id=self.labels.copy(),
            data={"class_name": np.array([self.class_name(label) for label in self.labels.tolist()], np.str_)},
        )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return super()._arrays() | {"keypoints": self.keypoints}
