"""COCO's keypoint average precision."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pycocotools.cocoeval import COCOeval

from zoo.errors import InputError
from zoo.metrics.coco_ap import FAR, CocoAP, CocoImage, Columns, boxes_of, xywh
from zoo.registry import METRICS

# How far people place the same point apart, as a share of the object's size: nose, eyes, ears, shoulders, elbows,
# wrists, hips, knees, ankles (https://cocodataset.org/#keypoints-eval).
SIGMAS = (
    *(0.026, 0.025, 0.025, 0.035, 0.035, 0.079, 0.079, 0.072, 0.072),
    *(0.062, 0.062, 0.107, 0.107, 0.087, 0.087, 0.089, 0.089),
)


@METRICS.register_module()
class CocoKeypointAP(CocoAP):
    """AP by the similarity of keypoints (OKS) in the place of the IoU (see CocoAP for the rest).

    Items have "keypoints" float32 [n, P, 3] x y visibility (0 not labelled, 1 hidden, 2 visible), "boxes" [n, 4] x1 y1
    x2 y2 and "areas" [n] (of the objects, not of their boxes: the similarity depends on it); results have `keypoints`
    [n, P, 3], whose last column is not looked at. All in the original image's pixels. Objects without a labelled point
    are ignored. `sigmas`: one for each of the P points; COCO's 17 by default. Gives "coco/keypoint_AP",
    "coco/keypoint_AP50" and so on; there are no small objects.
    """

    main: ClassVar[str] = "keypoint_AP"
    truth: ClassVar[tuple[str, ...]] = ("keypoints", "boxes", "labels")
    shape: ClassVar[str] = "keypoints"
    stats: ClassVar[tuple[str, ...]] = (
        *("keypoint_AP", "keypoint_AP50", "keypoint_AP75"),
        *("keypoint_AP_medium", "keypoint_AP_large"),
    )

    def __init__(self, sigmas: Sequence[float] = SIGMAS, **options: Any) -> None:
        super().__init__(**options)
        self.sigmas = np.asarray(sigmas, np.float64)
        if self.sigmas.ndim != 1 or not (self.sigmas > 0).all():
            raise InputError(f"CocoKeypointAP: got sigmas {sigmas}, expected a list of numbers above 0")

    def truth_shapes(self, item: Mapping[str, Any]) -> Columns:
        """The keypoints, how many are labelled, and the boxes. Raises InputError for another number of points."""
        points = self._points(item)
        return {
            "keypoints": points.reshape(-1, 3 * len(self.sigmas)).tolist(),
            "num_keypoints": (points[:, :, 2] > 0).sum(axis=1).tolist(),
            "bbox": xywh(self.field(item, "boxes")),
            "area": np.asarray(self.field(item, "areas")).tolist(),
        }

    def result_shapes(self, item: Mapping[str, Any], result: Any) -> Columns:  # noqa: ARG002 - other shapes need it
        """The keypoints; the area is that of the box around them. Raises InputError for another number of points."""
        points = self._points(result)
        finite = np.isfinite(points)
        areas = np.ptp(np.where(finite, points, 0.0)[:, :, :2], axis=1).prod(axis=1)
        points = np.where(finite, points, FAR)  # pycocotools takes NaN for right
        columns = {"keypoints": points.reshape(-1, 3 * len(self.sigmas)).tolist(), "area": areas.tolist()}
        return columns | boxes_of(result)

    def evaluation(self, entries: Sequence[CocoImage], shape: str) -> COCOeval:
        """With these sigmas."""
        evaluation = super().evaluation(entries, shape)
        evaluation.params.kpt_oks_sigmas = self.sigmas
        return evaluation

    def _points(self, record: Any) -> NDArray[np.float64]:
        """float64 [n, P, 3]."""
        points = np.asarray(self.field(record, "keypoints"), np.float64)
        if points.size and points.shape[1:] != (len(self.sigmas), 3):
            raise InputError(
                f"keypoints: got {list(points.shape)}, expected [n, {len(self.sigmas)}, 3]; "
                "give the evaluator as many sigmas as there are points"
            )
        return points.reshape(-1, len(self.sigmas), 3)
