"""Mean intersection over union of label maps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mmengine.evaluator import BaseMetric
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.registry import METRICS


@METRICS.register_module()
class MeanIoU(BaseMetric):  # type: ignore[misc]  # mmengine is untyped
    """The IoU of each class over all pixels of the data set, averaged over the classes, in points 0..100.

    All `num_classes` classes count, the background too, save those that are in neither truth nor results. Pixels whose
    truth is `ignore_label` are left out.

    `process(items, results)`: items of a segmentation data set with "label_map" [H, W]; results with `label_map` [H,
    W], as attribute or key (a SegmentationResult), at the original image's size. `evaluate(size)` gives
    "segmentation/mIoU" and "segmentation/pixel_accuracy".
    """

    default_prefix = "segmentation"

    def __init__(self, num_classes: int, ignore_label: int = 255, **options: Any) -> None:
        super().__init__(**options)
        self.num_classes = num_classes
        self.ignore_label = ignore_label

    def process(self, data_batch: Sequence[Mapping[str, Any]], data_samples: Sequence[Any]) -> None:
        """Adds one batch: items of the data set, and the model's results for them, in the same order."""
        for item, result in zip(data_batch, data_samples, strict=True):
            found = result["label_map"] if isinstance(result, Mapping) else result.label_map
            self.results.append(self._confusion(np.asarray(item["label_map"]), np.asarray(found)))

    def _confusion(self, truth: NDArray[Any], found: NDArray[Any]) -> NDArray[np.int64]:
        """Pixels int64 [C, C] by true class (rows) and found class (columns). Raises InputError."""
        if truth.shape != found.shape:
            raise InputError(f"label map of a result: got {found.shape}, expected the image's {truth.shape}")
        counted = truth != self.ignore_label
        pairs = truth[counted].astype(np.int64), found[counted].astype(np.int64)
        for name, values in zip(("truth", "result"), pairs, strict=True):
            if values.size and not 0 <= values.min() <= values.max() < self.num_classes:
                raise InputError(
                    f"label map of the {name}: got labels {values.min()} to {values.max()}, "
                    f"expected 0 to {self.num_classes - 1}; check num_classes and ignore_label of the evaluator"
                )
        flat = np.bincount(pairs[0] * self.num_classes + pairs[1], minlength=self.num_classes**2)
        return flat.reshape(self.num_classes, self.num_classes)

    def compute_metrics(self, results: list[NDArray[np.int64]]) -> dict[str, float]:
        """All kept batches -> {"mIoU": points, "pixel_accuracy": points}; NaN where no pixel counts."""
        confusion = np.sum(results, axis=0, dtype=np.int64)
        hits = np.diag(confusion)
        union = confusion.sum(axis=0) + confusion.sum(axis=1) - hits
        if not union.any():
            return {"mIoU": float("nan"), "pixel_accuracy": float("nan")}
        present = union > 0
        return {
            "mIoU": 100 * float((hits[present] / union[present]).mean()),
            "pixel_accuracy": 100 * float(hits.sum() / confusion.sum()),
        }
