"""Top-1 and top-5 accuracy beside scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import top_k_accuracy_score

from zoo.errors import InputError
from zoo.metrics import build_metric
from zoo.tasks.image_classification import ClassificationResult

RNG = np.random.default_rng(0)
SCORES = RNG.random((200, 9)).astype(np.float32)
LABELS = RNG.integers(0, 9, 200)


def test_the_figures_are_those_of_scikit_learn() -> None:
    metric = build_metric({"type": "Accuracy"})
    for scores, label in zip(SCORES, LABELS.tolist(), strict=True):
        metric.process([{"label": label}], [ClassificationResult.of(scores)])
    figures = metric.evaluate(len(LABELS))
    expected = {
        f"classification/top{k}": 100 * top_k_accuracy_score(LABELS, SCORES, k=k, labels=range(9)) for k in (1, 5)
    }
    assert figures == pytest.approx(expected)
    counts = RNG.integers(0, 3, (4, 200))
    draws = [np.repeat(np.arange(200), row) for row in counts]
    again = [metric.figures([metric.per_image[i] for i in draw])["top1"] for draw in draws]
    assert metric.resampled(metric.per_image, counts) == pytest.approx(again)
    assert np.isnan(metric.resampled(metric.per_image, np.zeros((1, 200), np.int64)))
    assert np.isnan(metric.figures([])["top1"])


def test_a_class_that_the_result_lacks_is_an_error() -> None:
    metric = build_metric({"type": "Accuracy"})
    with pytest.raises(InputError, match="label 9 of the ground truth appears 0 times among 9, expected once"):
        metric.process([{"label": 9}], [ClassificationResult.of(SCORES[0])])
