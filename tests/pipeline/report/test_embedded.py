"""Images inside a page keep to their bytes, whatever they show."""

import base64

import cv2
import numpy as np
import pytest

from pipeline.report.embedded import ALL, LARGEST, LONGEST_SIDE, data_uri, image_bytes

HEAD = "data:image/webp;base64,"
NOISE = np.random.default_rng(0).integers(0, 256, (900, 1600, 3)).astype(np.uint8)


def decoded(uri: str) -> tuple[int, np.ndarray]:
    assert uri.startswith(HEAD)
    data = base64.b64decode(uri.removeprefix(HEAD))
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return len(data), image


@pytest.mark.parametrize("most", [LARGEST, 4_000])
def test_noise_becomes_smaller_until_it_fits(most: int) -> None:
    size, image = decoded(data_uri(NOISE, most))
    assert size <= most
    assert image.shape[1] / image.shape[0] == pytest.approx(16 / 9, rel=0.05)


def test_a_plain_image_keeps_its_size_and_colours() -> None:
    plain = np.full((120, 160, 3), (40, 90, 200), np.uint8)
    _, image = decoded(data_uri(plain))
    assert image.shape == plain.shape
    assert np.abs(image.astype(int) - plain).max() <= 4


def test_a_large_image_is_scaled_down() -> None:
    _, image = decoded(data_uri(np.zeros((3000, 4000, 3), np.uint8)))
    assert image.shape == (LONGEST_SIDE * 3 // 4, LONGEST_SIDE, 3)


def test_all_images_of_a_page_share_one_budget() -> None:
    assert image_bytes(12) == LARGEST
    assert image_bytes(24) * 24 <= ALL
