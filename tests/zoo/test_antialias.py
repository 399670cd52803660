"""The antialiased resize beside Pillow itself: a grey level at most, of any size, enlarged and shrunk."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from zoo.preprocess.antialias import antialiased

METHODS = {"antialias": Image.Resampling.BILINEAR, "antialias_bicubic": Image.Resampling.BICUBIC}
SIDE = st.integers(1, 150)
LARGE = 300  # numbers of an image, of which a mean says something


@given(
    image=st.tuples(SIDE, SIDE),
    size=st.tuples(SIDE, SIDE),
    name=st.sampled_from(sorted(METHODS)),
    seed=st.integers(0, 9),
    hard=st.booleans(),
)
@example(image=(1, 1), size=(7, 5), name="antialias_bicubic", seed=0, hard=False)
@example(image=(97, 131), size=(1, 1), name="antialias_bicubic", seed=0, hard=True)
@example(image=(1, 149), size=(150, 1), name="antialias", seed=0, hard=True)
@example(image=(41, 63), size=(41, 64), name="antialias", seed=1, hard=False)
@example(image=(149, 150), size=(33, 150), name="antialias_bicubic", seed=1, hard=True)
def test_a_grey_level_at_most(
    image: tuple[int, int], size: tuple[int, int], name: str, seed: int, *, hard: bool
) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (*image, 3)).astype(np.uint8)
    if hard:  # black and white: a cubic overshoots at every edge
        pixels = np.where(pixels < 128, 0, 255).astype(np.uint8)
    before = pixels.copy()
    columns = Image.fromarray(pixels).resize((size[1], image[0]), METHODS[name])  # Pillow 13 may take rows first
    expected = np.asarray(columns.resize((size[1], size[0]), METHODS[name])).astype(int)
    apart = np.abs(antialiased(pixels, size, name).astype(int) - expected)
    assert apart.max() <= 1
    assert apart.mean() <= 0.3 or apart.size < LARGE
    np.testing.assert_array_equal(pixels, before)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_one_call_of_pillow_differs_by_a_level_at_most(name: str) -> None:
    """Where height and width shrink alike, whichever of the two Pillow takes first."""
    rows, columns = np.mgrid[:300, :400]
    cosines = np.cos(columns[..., None] / np.array([5, 9, 13]))
    pixels = (127 + 60 * np.sin(rows / 7)[..., None] + 60 * cosines).astype(np.uint8)
    expected = np.asarray(Image.fromarray(pixels).resize((133, 99), METHODS[name])).astype(int)
    apart = np.abs(antialiased(pixels, (99, 133), name).astype(int) - expected)
    assert apart.max() <= 1
    assert apart.mean() < 0.3


def test_very_long_images_shrink_in_little_memory() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40_000, 40, 3)).astype(np.uint8)
    small = antialiased(pixels, (1, 1), "antialias_bicubic")
    assert small.shape == (1, 1, 3)
    assert abs(small.astype(float) - 127.5).max() < 3
