"""Detections in space at level final.

A detector of no family is a module whose forward takes a list of clouds float32 [n, 4] and gives a dictionary for each:
"boxes" float32 [k, 7], "scores" float32 [k], "labels" int64 [k]. Its attribute `detections_per_img` says how many it
gives for a cloud at most. It is exported with a fixed batch of 1, where the number of boxes differs.
"""

from typing import Any

from torch import Tensor

from zoo.contract.valid_points import valid_points
from zoo.tasks.detection.proof.contracts import AnyDetectionFinal


class AnyDetection3DFinal(AnyDetectionFinal):
    """-> num_dets int64 [N], boxes float32 [N, K, 7], scores float32 [N, K], labels int64 [N, K].

    Of points float32 [N, count, 4], of which the first num_points int64 [N] of each cloud count. Unused slots hold
    zeros, and label -1.
    """

    def forward(self, points: Tensor, num_points: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]  # another kind
        clouds: Any = valid_points(points, num_points)  # what the model takes
        return self.tensors(self.detections(clouds, None))
