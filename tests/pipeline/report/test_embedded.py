"""Pictures inside a page keep to their bytes, whatever they show."""

import base64

import cv2
import numpy as np
import pytest

from pipeline.report.embedded import ALL, LARGEST, LONGEST_SIDE, data_uri, picture_bytes

HEAD = "data:image/webp;base64,"
NOISE = np.random.default_rng(0).integers(0, 256, (900, 1600, 3)).astype(np.uint8)


def decoded(uri: str) -> tuple[int, np.ndarray]:
    assert uri.startswith(HEAD)
    data = base64.b64decode(uri.removeprefix(HEAD))
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None
    return len(data), picture


@pytest.mark.parametrize("most", [LARGEST, 4_000])
def test_noise_becomes_smaller_until_it_fits(most: int) -> None:
    size, picture = decoded(data_uri(NOISE, most))
    assert size <= most
    assert picture.shape[1] / picture.shape[0] == pytest.approx(16 / 9, rel=0.05)


def test_a_plain_picture_keeps_its_size_and_colours() -> None:
    plain = np.full((120, 160, 3), (40, 90, 200), np.uint8)
    _, picture = decoded(data_uri(plain))
    assert picture.shape == plain.shape
    assert np.abs(picture.astype(int) - plain).max() <= 4


def test_a_large_picture_is_scaled_down() -> None:
    _, picture = decoded(data_uri(np.zeros((3000, 4000, 3), np.uint8)))
    assert picture.shape == (LONGEST_SIDE * 3 // 4, LONGEST_SIDE, 3)


def test_all_pictures_of_a_page_share_one_budget() -> None:
    assert picture_bytes(12) == LARGEST
    assert picture_bytes(24) * 24 <= ALL
