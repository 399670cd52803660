"""The reference's own preprocessing and mapping agree with production's, though they share no code."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.parity.gates import PIPELINE
from pipeline.parity.pipeline_parity import compare_input
from tests.examples import examples
from zoo.errors import InputError
from zoo.input_kinds import input_kind
from zoo.input_kinds.image.reference_input import reference_input
from zoo.preprocess import Preprocess
from zoo.tasks import build_task
from zoo.tasks.detection.proof.in_image import boxes_in_image
from zoo.tasks.detection.proof.way_back import edge_boxes, way_back_findings
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
        {"resize": "stretch", "interpolation": "antialias"},
        {"resize": "letterbox", "interpolation": "antialias_bicubic"},
        {"resize": "shortest", "shortest_edge": 90},
        {"resize": "shortest", "shortest_edge": 90, "longest_edge": 110, "multiple_of": 14, "size_divisor": 1},
        {"resize": "shortest", "shortest_edge": 101, "longest_edge": 133, "interpolation": "antialias"},
        {"resize": "nearest_scale", "fit_size": (120, 90), "multiple_of": 14, "size_divisor": 1},
        {"resize": "nearest_scale", "fit_size": (150, 150), "interpolation": "antialias_bicubic"},
        {"resize": "letterbox", "side_rounding": "half_up", "pad_value": (123.675, 116.28, 103.53)},
        {"resize": "shortest", "shortest_edge": 90, "longest_edge": 133, "side_rounding": "half_up"},
    ]
)
centres = st.sampled_from(
    [
        {"shortest_edge": 300, "crop_rounding": "even"},
        {"shortest_edge": 301, "interpolation": "antialias"},
        {"shortest_edge": 333, "interpolation": "area", "crop_rounding": "even"},
    ]
)
CENTRE = {"resize": "shortest", "shortest_edge": 140, "crop_rounding": "even"}
TASK = build_task({"type": "Detection", "classes": [{"name": str(n), "category_id": n} for n in range(6)]})


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
    assert (placed.offset, placed.shown) == (geometry.offset, geometry.shown_size)
    return placed.tensor[0].numpy(), out


@examples(15, 60)
@given(sides, sides, tensor_sides, tensor_sides, rules)
@example(32, 36, 39, 44, {"resize": "letterbox", "interpolation": "area"})  # edges of old and new pixels meet
@example(32, 196, 39, 234, {"resize": "letterbox", "interpolation": "area"})  # a part that is one in float32
def test_the_two_preprocessings_differ_by_rounding_alone(
    height: int, width: int, tensor_height: int, tensor_width: int, rule: dict[str, Any]
) -> None:
    size = None if rule["resize"] in ("keep", "shortest", "nearest_scale") else (tensor_height, tensor_width)
    reference, candidate = both(sample_image(height, width), rule | {"size": size})
    assert compare_input(input_kind("image"), reference, candidate, PIPELINE).failures == ()


@given(sides, sides, tensor_sides, tensor_sides, centres)
def test_the_two_cut_out_the_same_centre(
    height: int, width: int, tensor_height: int, tensor_width: int, rule: dict[str, Any]
) -> None:
    rule = {"resize": "shortest", "size": (tensor_height, tensor_width), **rule}
    reference, candidate = both(sample_image(height, width), rule)
    assert candidate.shape == (3, tensor_height, tensor_width)
    assert compare_input(input_kind("image"), reference, candidate, PIPELINE).failures == ()


def test_an_image_of_the_tensors_own_size_is_equal_to_the_bit() -> None:
    reference, candidate = both(sample_image(96, 128), {"size": (96, 128)})
    assert np.array_equal(reference, candidate)


@pytest.mark.parametrize(
    "wrong",
    [
        {"resize": "stretch"},
        {"interpolation": "area"},
        {"interpolation": "nearest"},
        {"interpolation": "antialias"},
        {"pad_value": 113},
    ],
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


@examples(15, 60)
@given(sides, sides, st.sampled_from([{"resize": "letterbox"}, {"resize": "stretch"}, CENTRE]))
def test_the_two_ways_back_to_the_image_agree(height: int, width: int, rule: dict[str, Any]) -> None:
    fields = {"size": (96, 128), **rule}
    geometry = Preprocess.from_dict(fields).geometry(height, width)
    labels = np.random.default_rng(0).integers(0, 200, (96, 128)).astype(np.uint8)
    mapped = geometry.label_map_to_image(labels)
    (y, y_other), (x, x_other) = nearest_pixels(reference_input(sample_image(height, width), fields))
    either = [labels[np.ix_(rows, columns)] for rows in (y, y_other) for columns in (x, x_other)]
    assert mapped.shape == (height, width)
    assert np.any([mapped == labels for labels in either], axis=0).all()


@pytest.mark.parametrize("rule", [{"resize": "letterbox"}, {"resize": "stretch"}, CENTRE], ids=str)
@pytest.mark.parametrize("size", [(100, 333), (333, 100), (131, 177)])
def test_boxes_and_points_come_back_on_both_ways(size: tuple[int, int], rule: dict[str, Any]) -> None:
    fields = {"size": (96, 128), **rule}
    geometry = Preprocess.from_dict(fields).geometry(*size)
    placed = reference_input(sample_image(*size), fields)
    assert way_back_findings(TASK, geometry, placed, 0.01).failures == ()
    boxes = edge_boxes(96, 128)
    theirs = boxes_in_image(torch.from_numpy(boxes), placed).numpy()
    np.testing.assert_allclose(geometry.boxes_to_image(boxes, clip=False), theirs, atol=1e-3)
    np.testing.assert_allclose(geometry.points_to_image(boxes[:, :2]), theirs[:, :2], atol=1e-3)


def test_boxes_of_another_centre_are_found() -> None:
    geometry = Preprocess.from_dict({"size": (96, 128), **CENTRE}).geometry(100, 333)
    placed = reference_input(sample_image(100, 333), {"size": (96, 128), **CENTRE})
    assert way_back_findings(TASK, geometry._replace(offset=(0, 0)), placed, 0.05).failures


def test_unknown_rules_are_refused() -> None:
    for rule in ({"size": (64, 64), "resize": "crop"}, {"size": (64, 64), "interpolation": "lanczos"}):
        with pytest.raises(InputError, match="the PyTorch reference does not support"):
            reference_input(sample_image(40, 50), rule)
