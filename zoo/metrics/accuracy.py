"""How often the right class is the best, or among the best."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.metrics.metric import Metric
from zoo.registry import METRICS

TOP = 5


@METRICS.register_module()
class Accuracy(Metric):
    """The part of the images, in points 0..100, whose class is

    - "classification/top1": the one with the best score;
    - "classification/top5": among the five best. With fewer than six classes it is always 100.

    Source: Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015 (top-1 and top-5 error).

    Items have "label", the model's own id; results have `labels` [C], ids in the order of their scores, best first.
    """

    default_prefix = "classification"
    main: ClassVar[str] = "top1"
    truth: ClassVar[tuple[str, ...]] = ("label",)

    def entry(self, item: Mapping[str, Any], result: Any) -> int:
        """The rank of the image's class, from 0. Raises InputError where the result does not have it."""
        label, labels = self.field(item, "label"), np.asarray(self.field(result, "labels"))
        ranks = np.flatnonzero(labels == label)
        if ranks.size != 1:
            raise InputError(
                f"classes of a result: label {label} of the ground truth appears {ranks.size} times among "
                f"{labels.size}, expected once; check the classes of the config's task"
            )
        return int(ranks[0])

    def figures(self, entries: Sequence[int]) -> dict[str, float]:
        """{"top1": points, "top5": points}; NaN without an image."""
        ranks = np.asarray(entries, np.int64)
        return {f"top{top}": 100 * float(np.mean(ranks < top)) if ranks.size else np.nan for top in (1, TOP)}

    def resampled(self, per_image: Sequence[int], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """top1 of each draw (see Metric)."""
        right = (np.asarray(per_image) == 0).astype(np.float64)
        images = counts.sum(axis=1)
        return np.where(images > 0, 100 * (counts @ right) / np.maximum(images, 1), np.nan)
