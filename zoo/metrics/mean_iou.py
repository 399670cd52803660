"""Mean intersection over union of label maps."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.metrics.metric import Metric
from zoo.registry import METRICS
from zoo.tasks.class_info import IGNORE_LABEL


@METRICS.register_module()
class MeanIoU(Metric):
    """Over all pixels of the data set, in points 0..100:

    - "segmentation/mIoU": the IoU of each class, mean over the classes that are in truth or results;
    - "segmentation/mAcc": the share of each class's pixels that were found, mean over the classes in the truth;
    - "segmentation/aAcc": the share of all pixels that were found.

    Source: Long et al., Fully Convolutional Networks, 2015 (mean IU, mean accuracy, pixel accuracy), by the names of
    mmsegmentation's IoUMetric. All `num_classes` classes count, the background too. Pixels whose truth is
    `ignore_label` are left out.

    Items have "label_map" [H, W]; results have `label_map` [H, W] of the original image's size.
    """

    default_prefix = "segmentation"
    main: ClassVar[str] = "mIoU"
    truth: ClassVar[tuple[str, ...]] = ("label_map",)

    def __init__(self, num_classes: int, ignore_label: int = IGNORE_LABEL, **options: Any) -> None:
        super().__init__(**options)
        if num_classes < 1:
            raise InputError(f"MeanIoU: got num_classes {num_classes}, expected 1 or more")
        self.num_classes = num_classes
        self.ignore_label = ignore_label

    def entry(self, item: Mapping[str, Any], result: Any) -> NDArray[np.int64]:
        """Pixels int64 [3, C] of each class: right ones, found ones, true ones. Raises InputError."""
        truth = np.asarray(self.field(item, "label_map"))
        labels = np.asarray(self.field(result, "label_map"))
        if truth.shape != labels.shape:
            raise InputError(f"label map of a result: got {labels.shape}, expected the image's {truth.shape}")
        counted = truth != self.ignore_label
        truth, labels = truth[counted], labels[counted]
        for name, values in (("truth", truth), ("result", labels)):
            if values.size and not 0 <= values.min() <= values.max() < self.num_classes:
                raise InputError(
                    f"label map of the {name}: got labels {values.min()} to {values.max()}, "
                    f"expected 0 to {self.num_classes - 1}; check num_classes and ignore_label of the evaluator"
                )
        pixels = truth[truth == labels], labels, truth
        return np.stack([np.bincount(values, minlength=self.num_classes) for values in pixels]).astype(np.int64)

    def figures(self, entries: Sequence[NDArray[np.int64]]) -> dict[str, float]:
        """{"mIoU": points, "mAcc": points, "aAcc": points}; NaN where no pixel counts."""
        right, predicted, true = np.sum([np.zeros((3, self.num_classes), np.int64), *entries], axis=0)
        return {
            "mIoU": 100 * float(_mean_share(right, predicted + true - right)),
            "mAcc": 100 * float(_mean_share(right, true)),
            "aAcc": 100 * float(_mean_share(right.sum(keepdims=True), true.sum(keepdims=True))),
        }

    def resampled(self, per_image: Sequence[NDArray[np.int64]], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """mIoU of each draw (see Metric)."""
        pixels = np.reshape(per_image, (len(per_image), 3 * self.num_classes))
        # Whole numbers below 2^53 are exact as floats, whose product is many times as fast.
        totals = counts.astype(np.float64) @ pixels.astype(np.float64)
        right, predicted, true = totals.reshape(len(counts), 3, self.num_classes).swapaxes(0, 1)
        return 100 * _mean_share(right, predicted + true - right)


def _mean_share(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """[..., C] -> [...]: the mean of part / whole over the classes whose whole is not 0; NaN where there are none."""
    present = whole > 0
    shares = np.divide(part, whole, out=np.zeros(whole.shape), where=present)
    classes = present.sum(axis=-1)
    return np.where(classes > 0, shares.sum(axis=-1) / np.maximum(classes, 1), np.nan)
