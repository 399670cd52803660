"""The reference's own preprocessing and mapping agree with production's, though they share no code."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.parity.gates import PIPELINE
from pipeline.parity.pipeline_parity import compare_input
from zoo.errors import InputError
from zoo.input_kinds import input_kind
from zoo.input_kinds.image.reference_input import reference_input
from zoo.preprocess import Preprocess
from zoo.tasks.semantic_segmentation.proof.nearest import nearest_pixels

sides = st.integers(32, 500)
tensor_sides = st.integers(32, 300)
rules = st.sampled_from(
    [
        {"resize": "letterbox"},
        {"resize": "letterbox", "pad_value": 7},
        {"resize": "stretch"},
        {"resize": "letterbox", "interpolation": "area"},
        {"resize": "stretch", "interpolation": "nearest"},
        {"resize": "keep", "size_divisor": 48},
    ]
)


def sample_image(height: int, width: int) -> np.ndarray:
    """Noise, which shows every difference between two resizes."""
    return np.random.default_rng(height * 1000 + width).integers(0, 256, (height, width, 3)).astype(np.uint8)


def both(image: np.ndarray, rule: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The tensors of the reference and of production."""
    preprocess = Preprocess.from_dict(rule)
    geometry = preprocess.geometry(*image.shape[:2])
    out = np.empty((3, *geometry.tensor_size), np.float32)
    preprocess.run(image, out)
    placed = reference_input(image, rule)
    assert (placed.image, placed.resized) == (geometry.image_size, geometry.resized_size)
    return placed.tensor[0].numpy(), out


@settings(max_examples=60, deadline=None)
@given(sides, sides, tensor_sides, tensor_sides, rules)
@example(32, 36, 39, 44, {"resize": "letterbox", "interpolation": "area"})  # edges of old and new pixels meet
@example(32, 196, 39, 234, {"resize": "letterbox", "interpolation": "area"})  # a part that is one in float32
def test_the_two_preprocessings_differ_by_rounding_alone(
    height: int, width: int, tensor_height: int, tensor_width: int, rule: dict[str, Any]
) -> None:
    size = None if rule["resize"] == "keep" else (tensor_height, tensor_width)
    reference, candidate = both(sample_image(height, width), rule | {"size": size})
    assert compare_input(input_kind("image"), reference, candidate, PIPELINE).failures == ()


def test_an_image_of_the_tensors_own_size_is_equal_to_the_bit() -> None:
    reference, candidate = both(sample_image(96, 128), {"size": (96, 128)})
    assert np.array_equal(reference, candidate)


@pytest.mark.parametrize(
    "wrong",
    [{"resize": "stretch"}, {"interpolation": "area"}, {"interpolation": "nearest"}, {"pad_value": 113}],
    ids=str,
)
def test_another_rule_misses_the_gate(wrong: dict[str, Any]) -> None:
    rule = {"size": (96, 128), "resize": "letterbox", "interpolation": "bilinear", "pad_value": 114}
    image = np.clip(sample_image(100, 200) // 8 + 100, 0, 255).astype(np.uint8)  # of low contrast
    reference, _ = both(image, rule)
    _, candidate = both(image, rule | wrong)
    assert compare_input(input_kind("image"), reference, candidate, PIPELINE).failures


def test_swapped_colours_miss_the_gate() -> None:
    reference, candidate = both(sample_image(96, 128) // 64 + 100, {"size": (96, 128)})
    assert compare_input(input_kind("image"), reference, candidate[::-1], PIPELINE).failures


@settings(max_examples=60, deadline=None)
@given(sides, sides, st.sampled_from(["letterbox", "stretch"]))
def test_the_two_ways_back_to_the_image_agree(height: int, width: int, rule: str) -> None:
    fields = {"size": (96, 128), "resize": rule}
    geometry = Preprocess.from_dict(fields).geometry(height, width)
    labels = np.random.default_rng(0).integers(0, 200, (96, 128)).astype(np.uint8)
    mapped = geometry.label_map_to_image(labels)
    (y, y_other), (x, x_other) = nearest_pixels(reference_input(sample_image(height, width), fields))
    either = [labels[np.ix_(rows, columns)] for rows in (y, y_other) for columns in (x, x_other)]
    assert mapped.shape == (height, width)
    assert np.any([mapped == labels for labels in either], axis=0).all()


def test_unknown_rules_are_refused() -> None:
    for rule in ({"size": (64, 64), "resize": "crop"}, {"size": (64, 64), "interpolation": "lanczos"}):
        with pytest.raises(InputError, match="the PyTorch reference does not support"):
            reference_input(sample_image(40, 50), rule)
