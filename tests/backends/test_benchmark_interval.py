"""The interval of a median: its ranks, and how often it holds the true median."""

from itertools import product
from statistics import median

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backends.benchmark.interval import median_interval
from tests.examples import examples


def test_ranks_are_those_of_the_tables() -> None:
    """As printed in tables of the sign test, two-sided, 5 %."""
    for count, low in ((6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (30, 10), (100, 40)):
        interval = median_interval(range(1, count + 1))
        assert interval is not None
        assert (interval.low, interval.high) == (low, count + 1 - low)
        assert interval.median == median(range(1, count + 1))
    assert median_interval(range(5)) is None
    assert median_interval([]) is None


def test_it_holds_the_median_in_95_of_100_cases() -> None:
    """Counted over all 2**11 ways in which 11 values can be below or above the true median."""
    count, held = 11, 0
    for signs in product((-1.0, 1.0), repeat=count):
        interval = median_interval([sign * (place + 1) for place, sign in enumerate(signs)])
        assert interval is not None
        held += interval.low <= 0 <= interval.high
    assert 0.95 <= held / 2**count <= 0.995


@examples(30, 300)
@given(values=st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=50), scale=st.floats(0.1, 10))
def test_it_is_in_order_and_scales(values: list[float], scale: float) -> None:
    interval, scaled = median_interval(values), median_interval([scale * value for value in values])
    assert interval is not None
    assert scaled is not None
    assert min(values) <= interval.low <= interval.median <= interval.high <= max(values)
    np.testing.assert_allclose(scaled, [scale * bound for bound in interval], rtol=1e-9)
