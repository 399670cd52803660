"""Run lengths of masks: what pycocotools writes is taken, and what it would hang on is not."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pycocotools import mask as coco_mask

from zoo.datasets.coco.runs import mask_of, runs_fault

ALPHABET = "".join(map(chr, range(48, 112)))


def numbers(code: str) -> list[int] | None:
    """The runs of a compressed code, character by character; None where one has no end, or more characters than fit."""
    runs: list[int] = []
    value = place = 0
    for character in code:
        bits = ord(character) - 48
        value |= (bits & 31) << place
        place += 5
        if place > 30:  # a sign and 29 bits, more than any image has pixels
            return None
        if not bits & 32:
            value -= (1 << place) if bits & 16 else 0
            runs.append(value + (runs[-2] if len(runs) > 2 else 0))
            value = place = 0
    return None if place else runs


@given(
    arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40)), elements=st.integers(0, 1)),
    st.integers(1, 60),
)
def test_what_pycocotools_has_written_is_good(mask: np.ndarray, times: int) -> None:
    tall = np.repeat(mask, times, axis=0)  # long runs take more characters
    counts = coco_mask.encode(np.asfortranarray(tall))["counts"]
    for given_counts in (counts, counts.decode()):
        assert runs_fault(given_counts, tall.size) is None
        assert runs_fault(given_counts, tall.size + 1) == (
            f"the run lengths add up to {tall.size}, expected {tall.size + 1} pixels"
        )
        assert np.array_equal(mask_of({"size": tall.shape, "counts": given_counts}), tall)


@given(st.text(ALPHABET, max_size=12))
@example("")
@example("P")  # one character that says more will come
@example("PPPPPP0")  # nothing, in seven characters
def test_any_characters(code: str) -> None:
    runs = numbers(code)
    if runs is None or not runs:
        words = "not run lengths as COCO compresses them"
    elif min(runs) < 0:
        words = "integers, 0 or more"
    else:
        assert runs_fault(code, sum(runs)) is None
        words = "the run lengths add up to"
    for pixels in (0, 1200):
        fault = runs_fault(code, pixels)
        if not (runs and min(runs) >= 0 and sum(runs) == pixels):
            assert words in (fault or "")


@pytest.mark.parametrize("code", ["0/", "0p", "0\x00", "ü", "\ud800", " ", "P" * 6 + "1", "P" * 400 + "1"])
def test_what_no_mask_is_written_with(code: str) -> None:
    assert "not run lengths as COCO compresses them" in (runs_fault(code, 1200) or "")


def test_a_list_may_have_numpys_numbers() -> None:
    assert runs_fault([np.int64(4), 2], 6) is None
    assert runs_fault([4, 2.0], 6) == "expected run lengths that are integers, 0 or more"
    assert runs_fault([5, True], 6) == "expected run lengths that are integers, 0 or more"
    assert runs_fault(None, 6) == "counts None, expected run lengths, as a list or compressed"
