"""Weighted precision against literally repeated images, counted one detection after the other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from zoo.metrics import ranking
from zoo.metrics.ranking import Ranking, Rule, area, interpolated, mean_average_precision

LEVELS = 10


@st.composite
def rankings(draw: st.DrawFn) -> tuple[Ranking, NDArray[np.int64]]:
    """One ranking at two thresholds, few distinct scores, and counts that leave images out."""
    images = draw(st.integers(1, 4))
    truth = draw(st.lists(st.integers(0, 3), min_size=images, max_size=images))
    place = draw(st.lists(st.integers(0, images - 1), max_size=12).map(sorted))
    count = len(place)
    scores = draw(st.lists(st.sampled_from((0.25, 0.5, 0.75)), min_size=count, max_size=count))
    ignored = np.asarray(draw(st.lists(st.booleans(), min_size=2 * count, max_size=2 * count)), bool).reshape(2, count)
    wished = np.asarray(draw(st.lists(st.booleans(), min_size=2 * count, max_size=2 * count)), bool).reshape(2, count)
    hits = np.zeros((2, count), bool)
    for row in range(2):  # no more hits than objects
        left = list(truth)
        for index, image in enumerate(place):
            if wished[row, index] and not ignored[row, index] and left[image]:
                hits[row, index], left[image] = True, left[image] - 1
    counts = draw(st.lists(st.lists(st.integers(0, 3), min_size=images, max_size=images), min_size=1, max_size=3))
    made = Ranking(np.asarray(place, np.int64), np.asarray(scores), hits, ignored, np.asarray(truth, np.int64))
    return made, np.asarray(counts, np.int64)


def literal(made: Ranking, row: NDArray[np.int64], rule: str) -> float:
    """Copies of an image follow one another, as images of a data set do; exact fractions throughout."""
    total = int(made.truth @ row)
    if not total:
        return float("nan")
    results = []
    for hits, ignored in zip(made.hits, made.ignored, strict=True):
        listed = []
        for image, times in enumerate(row):
            members = [index for index, place in enumerate(made.image) if place == image]
            listed += [(-made.scores[index], hits[index], ignored[index]) for _ in range(times) for index in members]
        curve, right, wrong = [], 0, 0
        for _, hit, ignore in sorted(listed, key=lambda one: one[0]):  # stable
            right, wrong = right + hit, wrong + (not hit and not ignore)
            if right + wrong:
                curve.append((Fraction(right, total), Fraction(right, right + wrong)))
        if rule == "interpolated":
            levels = [Fraction(level, LEVELS) for level in range(LEVELS + 1)]
            best = [max((p for r, p in curve if r >= level), default=Fraction(0)) for level in levels]
            results.append(sum(best, Fraction(0)) / len(levels))
        else:
            reached = sorted({r for r, _ in curve if r})
            steps = zip([Fraction(0), *reached], reached, strict=False)
            results.append(sum(((b - a) * max(p for r, p in curve if r >= b) for a, b in steps), Fraction(0)))
    return float(sum(results, Fraction(0)) / 2)


RULES: dict[str, Rule] = {"interpolated": interpolated(np.arange(LEVELS + 1) / LEVELS), "area": area}


@pytest.mark.parametrize("rule", RULES)
@given(case=rankings())
@examples(50, 200)
def test_counts_are_repetitions(case: tuple[Ranking, NDArray[np.int64]], rule: str) -> None:
    made, counts = case
    expected = [literal(made, row, rule) for row in counts]
    np.testing.assert_allclose(made.average_precision(counts, RULES[rule]), expected, rtol=0, atol=1e-12)


def test_ties_within_an_image_are_repeated_in_turn() -> None:
    # right, wrong, right, wrong: at full recall 2 of 3 are right; two of each at once would say 2 of 2
    made = Ranking(
        np.asarray([0, 0]), np.asarray([0.5, 0.5]), np.asarray([[True, False]]), np.zeros((1, 2), bool), np.asarray([1])
    )
    assert made.average_precision(np.asarray([[2]]), area)[0] == pytest.approx((1 + 2 / 3) / 2)


def test_classes_without_truth_do_not_count() -> None:
    one, none = np.ones((1, 1), bool), np.ones((1, 0), bool)
    seen = Ranking(np.asarray([0]), np.asarray([0.5]), one, ~one, np.asarray([1, 0]))
    other = Ranking(np.asarray([], int), np.asarray([]), none, none, np.asarray([0, 1]))
    counts = np.asarray([[1, 1], [1, 0], [0, 1], [0, 0]])
    np.testing.assert_allclose(mean_average_precision([seen, other], counts, area), [0.5, 1, 0, np.nan])


def test_draws_are_made_in_parts_that_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    image = np.sort(rng.integers(0, 20, 60))
    hits = rng.random((3, 60)) < 0.3
    made = Ranking(image, rng.random(60), hits, np.zeros((3, 60), bool), np.bincount(image, minlength=20))
    counts = rng.multinomial(20, np.full(20, 1 / 20), size=50)
    whole = made.average_precision(counts, area)
    monkeypatch.setattr(ranking, "ELEMENTS", 7 * 60)
    np.testing.assert_array_equal(made.average_precision(counts, area), whole)
