"""The search for modules that must stay in fp32, with a judge that knows the answer."""

import math

from hypothesis import given
from hypothesis import strategies as st

from pipeline.what_if.search import Kept, search

NAMES = st.lists(st.integers(0, 99).map(lambda number: f"m{number}"), unique=True, min_size=1, max_size=40)


@given(NAMES, st.data())
def test_exactly_the_needed_ones_are_found_wherever_they_are_in_the_ranking(
    ranked: list[str], data: st.DataObject
) -> None:
    needed = data.draw(st.sets(st.sampled_from(ranked)))
    assert set(search(ranked, needed.issubset) or ()) == needed


@given(NAMES, st.data())
def test_what_is_given_was_tried_and_is_good(ranked: list[str], data: st.DataObject) -> None:
    """Also where a longer list can be worse than a shorter one."""
    verdicts: dict[Kept, bool] = {}

    def good(kept: Kept) -> bool:
        return verdicts.setdefault(kept, data.draw(st.booleans()))

    found = search(ranked, good)
    assert verdicts[tuple(ranked)] is False if found is None else verdicts[found]


def test_few_are_found_in_few_trials() -> None:
    tried: list[Kept] = []

    def good(kept: Kept) -> bool:
        tried.append(kept)
        return {"m0", "m4"} <= set(kept)

    assert search([f"m{number}" for number in range(1000)], good) == ("m0", "m4")
    assert len(tried) <= 5 + math.ceil(math.log2(4)) + 4
    assert max(map(len, tried)) == 8


@given(st.lists(st.text(), max_size=5, unique=True))
def test_none_where_even_all_are_not_good(ranked: list[str]) -> None:
    assert search(ranked, lambda _kept: False) is None


def test_nothing_is_kept_where_nothing_is_lost() -> None:
    assert search(["a", "b"], lambda _kept: True) == ()
