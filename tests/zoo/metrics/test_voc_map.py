"""VOC's mAP by hand, and against the devkit's procedure, written out detection by detection."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.zoo.metrics.scenes import CLASSES, Pairs, detection_scenes, draws, processed, repeated
from zoo.errors import InputError
from zoo.metrics import VOCmAP

SQUARE = [10.0, 10.0, 110.0, 110.0]
AWAY = [300.0, 300.0, 350.0, 350.0]


def overlap(a: list[float], b: list[float]) -> float:
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = width * height if width > 0 and height > 0 else 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return shared / (sum(areas) - shared)


def devkit(pairs: Pairs, label: int, *, eleven_points: bool) -> float | None:
    """VOCevaldet for one class over the whole data set: all its detections in one list, best first."""
    objects = [
        [
            [box, hard, False]
            for box, name, hard in zip(item["boxes"].tolist(), item["labels"], item["difficult"], strict=True)
            if name == label
        ]
        for item, _ in pairs
    ]
    positives = sum(not hard for image in objects for _, hard, _ in image)
    if not positives:
        return None
    listed = [
        (score, index, box)
        for index, (_, result) in enumerate(pairs)
        for score, name, box in zip(result["scores"], result["labels"], result["boxes"].tolist(), strict=True)
        if name == label
    ]
    right = wrong = 0
    curve = []
    for _, index, box in sorted(listed, key=lambda one: -one[0]):
        best = max(objects[index], key=lambda one: overlap(box, one[0]), default=None)
        if best is None or overlap(box, best[0]) < 0.5:
            wrong += 1
        elif not best[1]:
            right, wrong = right + (not best[2]), wrong + best[2]
            best[2] = True
        if right + wrong:
            curve.append((Fraction(right, positives), Fraction(right, right + wrong)))
    if eleven_points:
        best_at = [max((p for r, p in curve if r >= Fraction(t, 10)), default=Fraction(0)) for t in range(11)]
        return float(sum(best_at, Fraction(0)) / 11)
    reached, total = Fraction(0), Fraction(0)
    for recall in sorted({r for r, _ in curve}):
        total += (recall - reached) * max(p for r, p in curve if r >= recall)
        reached = recall
    return float(total)


def figure(pairs: Pairs, **options: Any) -> float:
    return processed(VOCmAP(**options), pairs)["voc/mAP"]


def one_image(boxes: list[list[float]], difficult: list[bool], found: list[list[float]], scores: list[float]) -> Pairs:
    item = {"boxes": np.asarray(boxes), "labels": np.ones(len(boxes), int), "difficult": np.asarray(difficult)}
    return [(item, {"boxes": np.asarray(found), "labels": np.ones(len(found), int), "scores": np.asarray(scores)})]


@given(seed=st.integers(0, 2**32 - 1), ties=st.booleans())
@examples(12, 40)
@pytest.mark.parametrize("form", ["area", "11-point"])
def test_against_the_devkit(seed: int, ties: bool, form: str) -> None:
    pairs = detection_scenes(np.random.default_rng(seed), 6, ties=ties)
    classes = [devkit(pairs, label, eleven_points=form == "11-point") for label in range(CLASSES)]
    judged = [value for value in classes if value is not None]
    expected = 100 * np.mean(judged) if judged else np.nan
    assert figure(pairs, form=form) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(seed=st.integers(0, 2**32 - 1), ties=st.booleans())
@examples(6, 20)
@pytest.mark.parametrize("form", ["area", "11-point"])
def test_resampled_is_the_figure_of_repeated_images(seed: int, ties: bool, form: str) -> None:
    rng = np.random.default_rng(seed)
    pairs = detection_scenes(rng, 6, ties=ties)
    metric = VOCmAP(form=form)
    processed(metric, pairs)
    counts = draws(rng, 6, 6)
    copies = [[pair for pair, count in zip(pairs, row, strict=True) for _ in range(count)] for row in counts]
    expected = [figure(copy, form=form) for copy in copies]
    np.testing.assert_allclose(metric.resampled(metric.per_image, counts), expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(repeated(metric, metric.per_image, counts), expected)


def test_the_two_forms() -> None:
    # two objects, one found: recall 0.5 at precision 1, nothing beyond
    pairs = one_image([SQUARE, AWAY], [False, False], [SQUARE], [0.9])
    assert figure(pairs) == pytest.approx(50)
    assert figure(pairs, form="11-point") == pytest.approx(100 * 6 / 11)


def test_a_recall_of_three_tenths_reaches_the_level_of_three_tenths() -> None:
    boxes = [[40.0 * i, 0.0, 40.0 * i + 30, 30.0] for i in range(10)]
    assert figure(one_image(boxes, [False] * 10, boxes[:3], [0.9] * 3), form="11-point") == pytest.approx(100 * 4 / 11)


def test_difficult_objects_neither_count_nor_punish() -> None:
    assert figure(one_image([SQUARE, AWAY], [False, True], [AWAY, AWAY, SQUARE], [0.9, 0.8, 0.5])) == pytest.approx(100)
    assert np.isnan(figure(one_image([AWAY], [True], [AWAY], [0.9])))


def test_finding_an_object_twice_is_wrong_the_second_time() -> None:
    pairs = one_image([SQUARE, AWAY], [False, False], [SQUARE, SQUARE, AWAY], [0.9, 0.8, 0.7])
    assert figure(pairs) == pytest.approx(100 * (0.5 + 0.5 * 2 / 3))


def test_there_is_no_second_choice() -> None:
    # Both detections overlap the first object best, though the second one would do, too (IoU 0.6).
    near = [10.0, 10.0, 110.0, 70.0]
    pairs = one_image([SQUARE, near], [False, False], [SQUARE, [10.0, 10.0, 110.0, 105.0]], [0.9, 0.8])
    assert figure(pairs) == pytest.approx(50)


def test_the_iou_that_it_takes() -> None:
    half = [10.0, 10.0, 110.0, 60.0]  # IoU 0.5
    assert figure(one_image([SQUARE], [False], [half], [0.9])) == pytest.approx(100)
    assert figure(one_image([SQUARE], [False], [half], [0.9]), iou=0.51) == 0


def test_nothing_found_is_0_and_no_truth_is_no_figure() -> None:
    assert figure(one_image([SQUARE], [False], [], [])) == 0
    assert np.isnan(figure(one_image([], [], [SQUARE], [0.9])))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"form": "11point"}, 'VOCmAP: unknown form "11point"; nearest: "11-point", "area"'),
        ({"iou": 50}, "VOCmAP: got iou 50, expected a number above 0 and up to 1"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        VOCmAP(**options)
