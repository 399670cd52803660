"""What a graph gives beside what eager gives: boxes as sets, logits by their range, and the words of a verdict."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.tasks.instance_segmentation.sampled_pasting import sampled_masks

NEAR_BOX = 0.05  # pixels
NEAR_SCORE = 1e-3
NEAR_LOGIT = 1e-4  # of the range of the logits
NEAR_MASK = 1e-3  # of the pixels of the masks
EQUAL = "equal"
COUNT = "num_dets"
"""The output of zooport's graphs of detectors alone."""
Array = NDArray[Any]


class Boxes(NamedTuple):
    """Of an image: boxes [n, 4], scores [n], labels [n], and masks [n, h, w] of pixels or None."""

    boxes: Array
    scores: Array
    labels: Array
    masks: Array | None = None


class Difference(NamedTuple):
    """Of some images: detections of eager, those of them that the graph misses, and those that only the graph has.

    `errors`: the largest of the matched ones' boxes in pixels, of scores, and the part of mask pixels that differ.
    """

    expected: int
    missing: int
    extra: int
    errors: Mapping[str, float]

    @property
    def words(self) -> str:
        """The verdict."""
        if self.missing or self.extra:
            return f"{self.missing} of {self.expected} missing, {self.extra} extra"
        far = [f"{name} differ by {error:.1e}" for name, error in self.errors.items() if error > LIMITS[name]]
        return ", ".join(far) or EQUAL

    @property
    def largest(self) -> Mapping[str, float]:
        """By name."""
        return self.errors


LIMITS = {"boxes": NEAR_BOX, "scores": NEAR_SCORE, "masks": NEAR_MASK}


def compared_boxes(expected: Sequence[Boxes], found: Sequence[Boxes]) -> Difference:
    """As sets, image by image: a match has the label, and a box within NEAR_BOX, each one once."""
    missing = extra = 0
    errors: dict[str, float] = {}
    for own, other in zip(expected, found, strict=True):
        pairs = matched(own, other)
        missing += len(own.scores) - len(pairs)
        extra += len(other.scores) - len(pairs)
        for name, error in _errors(own, other, pairs).items():
            errors[name] = max(error, errors.get(name, 0.0))
    return Difference(sum(len(own.scores) for own in expected), missing, extra, errors)


def matched(own: Boxes, other: Boxes) -> list[tuple[int, int]]:
    """Pairs of places: each of `own`, best first, with the nearest of `other` that is left."""
    pairs: list[tuple[int, int]] = []
    left = set(range(len(other.scores)))
    for place in range(len(own.scores)):
        near = {
            index: (float(np.abs(own.boxes[place] - other.boxes[index]).max()), score)
            for index in left
            if own.labels[place] == other.labels[index]
            for score in [abs(float(own.scores[place]) - float(other.scores[index]))]
        }
        best = min(near, key=lambda index: near[index], default=None)
        if best is not None and near[best][0] <= NEAR_BOX:
            pairs.append((place, best))
            left.remove(best)
    return pairs


def _errors(own: Boxes, other: Boxes, pairs: Sequence[tuple[int, int]]) -> dict[str, float]:
    if not pairs:
        return {}
    a, b = (list(places) for places in zip(*pairs, strict=True))
    errors = {
        "boxes": float(np.abs(own.boxes[a] - other.boxes[b]).max()),
        "scores": float(np.abs(own.scores[a] - other.scores[b]).max()),
    }
    if own.masks is not None and other.masks is not None:
        errors["masks"] = float((own.masks[a] != other.masks[b]).mean())
    return errors


class LogitDifference(NamedTuple):
    """The largest difference as a part of the range of eager's logits, and the part of the labels that are equal."""

    of_range: float
    equal_labels: float

    @property
    def words(self) -> str:
        """The verdict."""
        if self.of_range <= NEAR_LOGIT:
            return EQUAL
        return f"logits differ by {self.of_range:.1e} of their range, {100 * self.equal_labels:.1f} % of labels equal"

    @property
    def largest(self) -> Mapping[str, float]:
        """By name."""
        return {"logits": self.of_range}


def compared_logits(expected: Array, found: Array) -> LogitDifference:
    """Of [N, C, H, W]. Raises ValueError where the shapes differ."""
    if expected.shape != found.shape:
        raise ValueError(f"logits have the shape {found.shape}, eager's have {expected.shape}")
    labels = expected.argmax(axis=1)
    error = np.abs(expected - found).max() / (expected.max() - expected.min())
    return LogitDifference(float(error), float((labels == found.argmax(axis=1)).mean()))


def of_mmdetection(instances: Mapping[str, Array]) -> Boxes:
    """Eager's InstanceData."""
    return Boxes(instances["bboxes"], instances["scores"], instances["labels"], instances.get("masks"))


def of_zooport(outputs: Mapping[str, Array], size: tuple[int, int]) -> list[Boxes]:
    """Of each image, from the graph's outputs by name. `size`: (h, w) that masks are pasted to."""
    found = []
    for number, count in enumerate(outputs[COUNT]):
        boxes, scores, labels = (outputs[name][number, :count] for name in ("boxes", "scores", "labels"))
        cells = outputs["masks"][number, :count] if "masks" in outputs else None
        found.append(Boxes(boxes, scores, labels, pasted(cells, boxes, size)))
    return found


def of_mmdeploy(outputs: Mapping[str, Array], size: tuple[int, int]) -> list[Boxes]:
    """The same, without the slots that hold nothing: a score of 0, or the label -1."""
    found = []
    for number, (rows, labels) in enumerate(zip(outputs["dets"], outputs["labels"], strict=True)):
        used = (rows[:, 4] > 0) & (labels >= 0)
        boxes = rows[used, :4]
        cells = outputs["masks"][number][used] if "masks" in outputs else None
        found.append(Boxes(boxes, rows[used, 4], labels[used], pasted(cells, boxes, size)))
    return found


def pasted(cells: Array | None, boxes: Array, size: tuple[int, int]) -> Array | None:
    """Masks [n, h, w] of pixels, from probabilities in cells of the boxes, by mmdetection's rule."""
    if cells is None:
        return None
    return sampled_masks(cells.reshape(len(cells), *cells.shape[-2:]), boxes, size)
