"""How much a difference between two models would vary with other images of the same kind."""

import numpy as np
from numpy.typing import NDArray

from zoo.metrics.metric import Metric

RESAMPLES = 1000
SEED = 0
INTERVAL = (2.5, 97.5)  # percentiles


class PairedBootstrap:
    """Compares models with a reference, whose entries (the metric's, one for each image) are ``reference``."""

    def __init__(self, metric: Metric, reference: list[object]) -> None:
        self.metric = metric
        self.counts = draws(len(reference))
        self.reference = metric.resampled(reference, self.counts)

    def interval(self, candidate: list[object]) -> tuple[float, float]:
        """The 95 % percentile interval of candidate - reference, over images drawn with replacement.

        ``candidate``: entries in the reference's order: both are judged on the same draws, so what all models find hard
        does not widen the interval. (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.) NaN
        where no draw can be judged.
        """
        return _interval(self.metric.resampled(candidate, self.counts) - self.reference)


def _interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    judged = differences[np.isfinite(differences)]
    if not len(judged):
        return float("nan"), float("nan")
    low, high = np.percentile(judged, INTERVAL)
    return float(low), float(high)


def draws(images: int) -> NDArray[np.int64]:
    """How often each image counts in each draw, int64 [RESAMPLES, images]; the same ones on every run."""
    rng = np.random.default_rng(SEED)
    drawn: NDArray[np.int64] = rng.multinomial(images, np.full(images, 1 / images), size=RESAMPLES)
    return drawn
