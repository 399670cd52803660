"""What is measured on images: the largest numbers, over all of them, without keeping any value."""

import re

import numpy as np
import pytest

from rewriters.precision.overflow import magnitudes, unfit
from tests.rewriters.graph_rewriters.graphs import model
from zoo.errors import ExportError


def feed(*numbers: float) -> dict[str, np.ndarray]:
    return {"x": np.array(numbers, np.float32)}


SCALED = "g (float[n] x) => (float[n] y) <float large = {1000}, float small = {0.00001}>"
BODY = "{ a = Mul(x, large)  b = Mul(x, small)  c = Sub(x, x)  y = Add(a, b) }"


def test_the_largest_over_all_images_of_either_sign() -> None:
    found = magnitudes(model(f"{SCALED} {BODY}"), ["x", "a", "c"], [feed(1, 2), feed(-9, 3, 4)])
    assert found == {"x": 9, "a": 9000, "c": 0}


def test_a_value_without_numbers_has_none() -> None:
    assert magnitudes(model(f"{SCALED} {BODY}"), ["a"], [feed()]) == {"a": 0}


@pytest.mark.parametrize(
    ("number", "words"), [(10, ""), (16, ""), (17, "reaches 1.7e.04"), (1e9, "fp16 ends at 65504")]
)
def test_beyond_and_near_the_range(number: float, words: str) -> None:
    found = unfit(model(f"{SCALED} {BODY}"), ["a", "c"], [feed(1), feed(-number)])
    assert set(found) == ({"a"} if words else set())
    assert not words or re.search(words, found["a"])


def test_what_would_be_rounded_away() -> None:
    assert set(unfit(model(f"{SCALED} {BODY}"), ["b", "c"], [feed(1)])) == {"b"}
    assert not unfit(model(f"{SCALED} {BODY}"), ["b"], [feed(1), feed(90)])


def test_what_is_not_finite_does_not_fit() -> None:
    before = model("g (float[n] x) => (float[n] y) { y = Log(x) }")
    assert set(unfit(before, ["y"], [feed(0, 1)])) == {"y"}
    assert set(unfit(before, ["y"], [feed(-1)])) == {"y"}


def test_without_images_nothing_is_known() -> None:
    assert unfit(model(f"{SCALED} {BODY}"), ["a"], []) == {}


def test_images_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ExportError, match="refuses the exported graph"):
        unfit(model(f"{SCALED} {BODY}"), ["a"], [{"z": np.zeros(1, np.float32)}])
