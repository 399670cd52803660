"""The objects found in one image, each with its keypoints."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.tasks.detection.result import DetectionResult

KEYPOINT_DIMS = 3


@dataclass(frozen=True, eq=False)
class KeypointResult(DetectionResult):
    """A DetectionResult with `keypoints` float32 [n, P, 3]: x and y in pixels of the image, and a score.

    The score is what the model's heatmap holds there, a logit: higher is surer, and it may be below 0.
    """

    keypoints: NDArray[np.float32]

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = self.keypoints.shape
        if len(shape) != KEYPOINT_DIMS or shape[0] != len(self) or shape[2] != KEYPOINT_DIMS:
            raise InputError(f"detections: got keypoints {list(shape)}, expected [{len(self)}, P, 3]")
