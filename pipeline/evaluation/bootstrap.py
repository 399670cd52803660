"""How much a difference between two models would vary with other images of the same kind."""

import numpy as np
from numpy.typing import NDArray
from zoo.metrics.metric import Metric

RESAMPLES = 1000
SEED = 0
INTERVAL = (2.5, 97.5)  # percentiles


def paired_interval(metric: Metric, reference: list[object], candidate: list[object]) -> tuple[float, float]:
    """The 95 % percentile interval of candidate - reference, over images drawn with replacement.

    ``reference`` and ``candidate``: the metric's entries, one for each image, in the same order: both models are always
    judged on the same draw, so what all models find hard does not widen the interval. (Efron and Tibshirani, An
    Introduction to the Bootstrap, 1993, chapter 13.) NaN where no draw can be judged.
    """
    counts = draws(len(reference))
    differences = metric.resampled(candidate, counts) - metric.resampled(reference, counts)
    judged = differences[np.isfinite(differences)]
    if not len(judged):
        return float("nan"), float("nan")
    low, high = np.percentile(judged, INTERVAL)
    return float(low), float(high)


def draws(images: int) -> NDArray[np.int64]:
    """How often each image counts in each draw, int64 [RESAMPLES, images]; the same ones on every run."""
    rng = np.random.default_rng(SEED)
    drawn: NDArray[np.int64] = rng.multinomial(images, np.full(images, 1 / images), size=RESAMPLES).astype(np.int64)
    return drawn
