"""Preprocessing against plain numpy, geometry there and back, and what is said of wrong images."""

import math
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from zoo.errors import InputError
from zoo.input_kinds import input_kind
from zoo.preprocess import INTERPOLATIONS, Geometry, Preprocess, check_image
from zoo.preprocess.antialias import FILTERS, antialiased

SIDES = st.integers(32, 700)
SIZES = st.tuples(st.integers(32, 200), st.integers(32, 200))
OPENCV = {"bilinear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST, "area": cv2.INTER_AREA}
QUICK = examples(15, 60)


def steps() -> st.SearchStrategy[Preprocess]:
    """Any preprocessing."""
    look = {"interpolation": st.sampled_from(INTERPOLATIONS), "pad_value": st.integers(0, 255)}
    sized = st.builds(Preprocess, SIZES, resize=st.sampled_from(["letterbox", "stretch"]), **look)
    kept = st.builds(Preprocess, st.none(), st.just("keep"), pad_value=st.integers(0, 255), size_divisor=SIDES)
    edges = st.tuples(st.integers(32, 200), st.none() | st.integers(0, 200))
    shortest = st.builds(
        lambda edge, **fields: Preprocess(
            None, "shortest", shortest_edge=edge[0], longest_edge=None if edge[1] is None else sum(edge), **fields
        ),
        edges,
        size_divisor=st.sampled_from([1, 32]),
        multiple_of=st.sampled_from([1, 14]),
        **look,
    )
    nearest = st.builds(
        lambda fit_size, **fields: Preprocess(None, "nearest_scale", fit_size=fit_size, **fields),
        SIZES,
        size_divisor=st.sampled_from([1, 32]),
        multiple_of=st.sampled_from([1, 14]),
        **look,
    )
    cropped = st.builds(
        lambda size, more, **fields: Preprocess(size, "shortest", shortest_edge=max(size) + more, **fields),
        SIZES,
        st.integers(0, 99),
        crop_rounding=st.sampled_from(["down", "even"]),
        **look,
    )
    return sized | kept | shortest | nearest | cropped


def plain(image: np.ndarray, how: Preprocess) -> np.ndarray:
    """The same, written as the definition reads."""
    height, width = image.shape[:2]
    left = top = 0
    if how.resize in ("shortest", "nearest_scale"):
        new = (plain_shortest if how.resize == "shortest" else plain_nearest_scale)(height, width, how)
        size = how.size or tuple(-(-side // how.size_divisor) * how.size_divisor for side in new)
        if how.size is not None:
            half = round if how.crop_rounding == "even" else math.floor
            top, left = (half((have - want) / 2) for have, want in zip(new, size, strict=True))
    elif how.size is None:
        new, size = (height, width), tuple(-(-side // how.size_divisor) * how.size_divisor for side in (height, width))
    elif how.resize == "stretch":
        new, size = how.size, how.size
    else:
        scale = min(how.size[0] / height, how.size[1] / width)
        new, size = (max(1, round(height * scale)), max(1, round(width * scale))), how.size
    if how.interpolation in FILTERS:  # tests/zoo/test_antialias.py compares it with Pillow
        resized = antialiased(image, new, how.interpolation)
    else:
        resized = cv2.resize(image, new[::-1], interpolation=OPENCV[how.interpolation])
    canvas = np.full((*size, 3), how.pad_value, np.uint8)
    shown = resized[top : top + size[0], left : left + size[1]]
    canvas[: len(shown), : shown.shape[1]] = shown
    return canvas[:, :, ::-1].transpose(2, 0, 1).astype(np.float32) / 255


def plain_shortest(height: int, width: int, how: Preprocess) -> tuple[int, int]:
    """(height, width) of resize "shortest"."""
    assert how.shortest_edge is not None
    short, long = sorted((height, width))
    edge = float(how.shortest_edge)
    if how.longest_edge is not None and long / short * edge > how.longest_edge:
        edge = how.longest_edge * float(short) / long
    sides = (short, long) if round(edge) == short else (max(1, round(edge)), max(1, int(edge * long / short)))
    new = sides if height <= width else sides[::-1]
    return tuple(-(-side // how.multiple_of) * how.multiple_of for side in new)  # type: ignore[return-value]


def plain_nearest_scale(height: int, width: int, how: Preprocess) -> tuple[int, int]:
    """(height, width) of resize "nearest_scale"."""
    assert how.fit_size is not None
    scale = min(how.fit_size[0] / height, how.fit_size[1] / width, key=lambda scale: abs(scale - 1))
    new = (max(1, round(scale * side / how.multiple_of)) * how.multiple_of for side in (height, width))
    return tuple(new)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ((1080, 1920), (518, 924)),  # larger: the shorter edge
        ((1920, 1080), (924, 518)),
        ((240, 320), (392, 518)),  # smaller: the longer edge
        ((480, 640), (518, 686)),  # by 1.08 or by 0.81
        ((300, 600), (252, 518)),  # by 1.73 or by 0.86; half a multiple: to the even number, as Python rounds
        ((480, 1800), (518, 1946)),  # by 0.29 or by 1.08
        ((518, 518), (518, 518)),
        ((2000, 32), (518, 14)),  # 8.3 pixels, and at least one multiple
    ],
)
def test_the_nearest_scale(image: tuple[int, int], expected: tuple[int, int]) -> None:
    rule = Preprocess(None, "nearest_scale", fit_size=(518, 518), multiple_of=14, size_divisor=1)
    assert rule.geometry(*image).tensor_size == expected


@pytest.mark.parametrize(("multiple", "divisor", "expected"), [(14, 1, 14), (14, 28, 28), (28, 14, 28), (14, 32, 32)])
def test_what_divides_a_side_that_follows_from_the_image(multiple: int, divisor: int, expected: int) -> None:
    rule = Preprocess(None, "shortest", shortest_edge=90, multiple_of=multiple, size_divisor=divisor)
    assert rule.side_multiple == expected
    sides = input_kind("image").sides(rule)["height"]
    assert all(side % expected == 0 for side in (sides.min, sides.opt, sides.max))
    assert sides.min == rule.geometry(90, 90).tensor_size[0]


@QUICK
@given(how=steps(), height=SIDES, width=SIDES, seed=st.integers(0, 9), stride=st.sampled_from([1, -1, 2]))
def test_values_are_those_of_the_definition(how: Preprocess, height: int, width: int, seed: int, stride: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (height * abs(stride), width, 3)).astype(np.uint8)
    image = pixels[::stride]
    before = image.copy()
    expected = plain(np.ascontiguousarray(image), how)
    batch = np.full((3, *expected.shape), np.nan, np.float32)
    geometry = how.run(image, batch[1])
    np.testing.assert_array_equal(batch[1], expected)
    assert np.isnan(batch[[0, 2]]).all(), "the neighbours in the batch are left alone"
    np.testing.assert_array_equal(image, before)
    assert geometry.tensor_size == expected.shape[1:]
    assert geometry == how.geometry(height, width)


def boxes_to_tensor(geometry: Geometry, boxes: NDArray[Any]) -> NDArray[np.float32]:
    """Boxes x1 y1 x2 y2 [n, 4] from the image's pixels to the tensor's: Geometry.boxes_to_image backwards."""
    y, x = np.divide(geometry.image_size, geometry.resized_size)
    top, left = geometry.offset
    return (boxes / (x, y, x, y) - (left, top, left, top)).astype(np.float32)


@pytest.mark.parametrize(("height", "width"), [(32, 6000), (6000, 32)])
def test_very_long_images(height: int, width: int) -> None:
    how = Preprocess((64, 96))
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3)).astype(np.uint8)
    out = np.empty((3, 64, 96), np.float32)
    geometry = how.run(image, out)
    assert min(geometry.resized_size) == 1
    np.testing.assert_array_equal(out, plain(image, how))
    np.testing.assert_allclose(
        geometry.boxes_to_image(boxes_to_tensor(geometry, np.array([[0, 0, width, height]]))), [[0, 0, width, height]]
    )


@QUICK
@given(how=steps(), height=SIDES, width=SIDES, data=st.data())
def test_boxes_come_back(how: Preprocess, height: int, width: int, data: st.DataObject) -> None:
    part = st.floats(0, 1, width=32)
    corners = data.draw(st.lists(st.tuples(part, part, part, part), max_size=5))
    boxes = np.array(corners, np.float32).reshape(-1, 4) * np.array([width, height, width, height], np.float32)
    geometry = how.geometry(height, width)
    in_tensor = boxes_to_tensor(geometry, boxes)
    (top, left), (tensor_height, tensor_width) = geometry.offset, geometry.resized_size
    assert (in_tensor <= np.array([tensor_width - left, tensor_height - top] * 2) + tensor_width * 1e-5 + 1e-2).all()
    back = geometry.boxes_to_image(in_tensor)
    assert back.dtype == np.float32
    assert back.shape == boxes.shape
    np.testing.assert_allclose(back, boxes, rtol=1e-5, atol=1e-3)


def test_boxes_are_clipped_to_the_image() -> None:
    geometry = Preprocess((64, 64)).geometry(100, 200)  # resized to 32x64; padding below
    boxes = np.array([[-5, -5, 70, 64], [10, 40, 20, 60]], np.float32)
    given = boxes.copy()
    np.testing.assert_allclose(geometry.boxes_to_image(boxes), [[0, 0, 200, 100], [31.25, 100, 62.5, 100]])
    np.testing.assert_array_equal(boxes, given)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_label_maps_lose_their_padding_and_keep_their_labels(dtype: type) -> None:
    geometry = Geometry((101, 203), (31, 63), (64, 64))  # odd: no pixel centre falls between two labels
    label_map = np.random.default_rng(0).integers(0, 250, (64, 64)).astype(dtype)
    label_map[31:] = label_map[:, 63:] = 251
    whole = geometry.label_map_to_image(label_map)
    rows, columns = ((np.arange(101) + 0.5) * 31 / 101).astype(int), ((np.arange(203) + 0.5) * 63 / 203).astype(int)
    np.testing.assert_array_equal(whole, label_map[rows][:, columns])
    assert whole.dtype == dtype


def test_label_maps_of_the_same_size_are_copies() -> None:
    label_map = np.zeros((64, 64), np.uint8)
    whole = Geometry((32, 50), (32, 50), (64, 64)).label_map_to_image(label_map)
    assert whole.shape == (32, 50)
    assert not np.shares_memory(whole, label_map)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (None, "cv2.imread gives None"),
        ([[1]], "got list, expected a numpy array"),
        (np.zeros((0, 50, 3), np.uint8), "image is empty"),
        (np.zeros((50, 50), np.uint8), r"got uint8 \[50, 50\], expected uint8 \[H, W, 3\], BGR; turn a grey"),
        (np.zeros((50, 50, 1), np.uint8), "cv2.COLOR_GRAY2BGR"),
        (np.zeros((50, 50, 4), np.uint8), r"drop the alpha channel with image\[:, :, :3\]"),
        (np.zeros((3, 50, 50), np.uint8), "give one image, channels last"),
        (np.zeros((1, 50, 50, 3), np.uint8), "give one image, channels last"),
        (np.zeros((50, 50, 3), np.float32), r"got float32 \[50, 50, 3\].*image \* 255"),
        (np.zeros((50, 50, 3), np.uint16), "got uint16"),
        (np.zeros((50, 31, 3), np.uint8), r"got 50x31 pixels \(height x width\), expected 32 or more on each side"),
    ],
)
def test_what_is_no_image(image: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        check_image(image, "image 3")
    assert str(caught.value).startswith("image 3")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError):
        Preprocess((64, 64)).run(image, np.empty((3, 64, 64), np.float32))


def test_what_would_be_resized_to_gigabytes_before_it_is_cropped_is_refused() -> None:
    rule = Preprocess((224, 224), resize="shortest", shortest_edge=256)
    image = np.broadcast_to(np.zeros(3, np.uint8), (32, 10**6, 3))
    with pytest.raises(InputError, match="32x1000000 pixels .* would be resized to 256x8000000, more than 268435456;"):
        rule.run(image, np.empty((3, 224, 224), np.float32))


def test_an_out_that_does_not_fit() -> None:
    with pytest.raises(InputError, match=r"out is float64 \[3, 64, 64\], expected float32 \[3, 64, 64\]"):
        Preprocess((64, 64)).run(np.zeros((50, 50, 3), np.uint8), np.empty((3, 64, 64)))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"size": (64, 64), "resise": "stretch"}, 'unknown key "resise"; nearest: "resize"'),
        ({"size": (64, 64), "resize": "leterbox"}, 'unknown resize "leterbox"; nearest: "letterbox"'),
        ({"size": (64, 64), "interpolation": "linear"}, 'unknown interpolation "linear"; nearest: "bilinear"'),
        ({}, r"no size; give size=\(height, width\)"),
        ({"size": None}, 'got size None with resize "letterbox"'),
        ({"size": (64, 64), "resize": "keep"}, r'got size \(64, 64\) with resize "keep"'),
        ({"size": (64,)}, r"got size \(64,\), expected \(height, width\)"),
        ({"size": (64, 31)}, "in whole pixels, 32 or more"),
        ({"size": (64, 64.5)}, "in whole pixels"),
        ({"size": (64, 64), "pad_value": 256}, "got pad_value 256, expected an integer from 0 to 255"),
        ({"size": (64, 64), "pad_value": 0.5}, "got pad_value 0.5"),
        ({"size": 64}, r"got size 64, expected \(height, width\)"),
        ({"resize": "keep", "size_divisor": 0}, "got size_divisor 0"),
        ({"resize": "nearest_scale"}, 'no fit_size with resize "nearest_scale"; give fit_size='),
        ({"resize": "nearest_scale", "fit_size": 518}, r"got fit_size 518, expected \(height, width\)"),
        ({"resize": "nearest_scale", "fit_size": (518, 518), "multiple_of": 0}, "got multiple_of 0"),
        ({"resize": "nearest_scale", "size": (64, 64)}, 'or size None with resize "keep" or "nearest_scale"'),
        ({"size": (64, 64), "multiple_of": 14}, 'only resize "shortest" or "nearest_scale" have it'),
        ({"resize": "keep", "fit_size": (64, 64)}, 'only resize "nearest_scale" has it: leave it out'),
    ],
)
def test_wrong_fields(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Preprocess.from_dict(fields)


@QUICK
@given(how=steps())
def test_dicts_there_and_back(how: Preprocess) -> None:
    assert Preprocess.from_dict(how.to_dict()) == how
    assert isinstance(hash(how), int)


def mmcv_size(height: int, width: int, scale: tuple[int, int]) -> tuple[int, int]:
    """(height, width) by mmcv 2's rescale_size, written as its definition reads."""
    factor = min(max(scale) / max(height, width), min(scale) / min(height, width))
    return int(height * factor + 0.5), int(width * factor + 0.5)


@given(st.integers(32, 3000), st.integers(32, 3000), st.sampled_from([(1333, 800), (2048, 512), (520, 520)]))
def test_sides_rounded_half_up_are_mmcvs(height: int, width: int, scale: tuple[int, int]) -> None:
    edges = {"shortest_edge": min(scale), "longest_edge": max(scale), "side_rounding": "half_up"}
    rule = Preprocess.from_dict({"resize": "shortest", **edges, "size_divisor": 1})
    assert rule.geometry(height, width).resized_size == mmcv_size(height, width, scale)


@given(st.integers(32, 3000), st.integers(32, 3000))
def test_a_letterbox_rounded_half_up_is_mmcvs(height: int, width: int) -> None:
    rule = Preprocess((640, 640), side_rounding="half_up")
    assert rule.geometry(height, width).resized_size == mmcv_size(height, width, (640, 640))


def test_half_a_pixel() -> None:
    assert Preprocess((640, 640), side_rounding="half_up").kept().geometry(853, 1280).resized_size == (853, 1280)
    assert Preprocess((640, 640)).geometry(853, 1280).resized_size == (426, 640)
    assert Preprocess((640, 640), side_rounding="half_up").geometry(853, 1280).resized_size == (427, 640)


def test_padding_by_channel_becomes_zero_when_it_is_normalised() -> None:
    mean = (123.675, 116.28, 103.53)
    rule = Preprocess((64, 96), pad_value=mean, mean=tuple(value / 255 for value in mean), std=(0.229, 0.224, 0.225))
    out = np.empty((3, 64, 96), np.float32)
    rule.run(np.zeros((64, 64, 3), np.uint8), out)
    below = (out[:, :, 64:] - np.array(rule.mean, np.float32).reshape(3, 1, 1)) / 0.225
    assert np.abs(below).max() < 1e-6
    assert rule.pad_bytes == (104, 116, 124)  # BGR
    assert Preprocess.from_dict(rule.to_dict()) == rule


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"pad_value": (1, 2)}, r"got pad_value \(1, 2\), expected an integer, or three numbers, from 0 to 255"),
        ({"pad_value": (1, 2, 256.0)}, "three numbers, from 0 to 255"),
        (
            {"resize": "stretch", "side_rounding": "half_up"},
            'side_rounding with resize "stretch", which does not round sides so',
        ),
        ({"side_rounding": "up"}, 'unknown side_rounding "up"; nearest: '),
    ],
)
def test_wrong_padding_and_rounding(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Preprocess.from_dict({"size": (64, 96), **fields})


@pytest.mark.parametrize("changes", [{"size": (224, 224)}, {"longest_edge": 1333}, {"shortest_edge": "a"}])
def test_a_shortest_edge_that_is_missing_or_no_number_is_the_only_fault(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match='got shortest_edge .* with resize "shortest", expected whole pixels'):
        Preprocess.from_dict({"resize": "shortest", **changes})
