"""Two parts of a data set: images to learn from, and images to be judged on."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from zoo.datasets import EvaluationDataset
from zoo.datasets.training.samples import PASSED_OVER
from zoo.errors import InputError
from zoo.tasks.class_info import IGNORE_LABEL

VALIDATED = 5  # every so many-th image
TRIES = 100  # orders of the images, of which the first with every class in both parts is taken


def labels_of(dataset: EvaluationDataset) -> list[Counter[int]]:
    """What a model learns of each image: how many objects of which class, or which classes."""
    return [_labels(dataset.truth(index)) for index in range(len(dataset))]


def _labels(truth: Mapping[str, Any]) -> Counter[int]:
    if "label_map" in truth:
        return Counter(set(np.unique(truth["label_map"]).tolist()) - {IGNORE_LABEL})
    if "label" in truth:
        return Counter([int(truth["label"])])
    flags = [np.asarray(truth[flag], bool) for flag in PASSED_OVER if flag in truth]
    passed_over = np.any([np.zeros(len(truth["labels"]), bool), *flags], axis=0)
    return Counter(truth["labels"][~passed_over].tolist())


def two_parts(labels: Sequence[Collection[int]], what: str) -> tuple[list[int], list[int]]:
    """The places of the images to learn from, and of every fifth, at random, to be judged on.

    Each class that two images or more have is in both parts, where one of TRIES orders allows it. Raises InputError
    where there are too few images.
    """
    if len(labels) < 2:  # noqa: PLR2004 - one for each part
        raise InputError(f"{what}: {len(labels)} image(s), expected 2 or more: some to train on, some to validate on")
    counts = Counter(label for image in labels for label in set(image))
    wanted = {label for label, count in counts.items() if count > 1}
    for order in _orders(len(labels)):
        judged = sorted(order[: max(1, len(order) // VALIDATED)])
        parts = sorted(set(order) - set(judged)), judged
        if all(wanted <= set().union(*(labels[place] for place in part)) for part in parts):
            break
    return parts


def _orders(count: int) -> Iterator[Sequence[int]]:
    """The same on each machine."""
    for seed in range(TRIES):
        yield np.random.default_rng(seed).permutation(count).tolist()
