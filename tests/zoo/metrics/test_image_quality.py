"""PSNR and SSIM: known values, the definitions written out, and what is refused."""

import sys
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.zoo.metrics.scenes import draws, processed, repeated
from zoo.errors import BackendUnavailableError, InputError
from zoo.metrics import ImageQuality

Image = NDArray[np.uint8]


def sample_images(seed: int, height: int = 40, width: int = 52) -> tuple[Image, Image]:
    """A smooth image, and the same with noise."""
    rng = np.random.default_rng(seed)
    target = cv2.resize(rng.integers(0, 256, (6, 8, 3)).astype(np.uint8), (width, height))
    noise = rng.normal(0, rng.uniform(1, 20), target.shape)
    return target, np.clip(target + noise, 0, 255).astype(np.uint8)


def figures(target: Image, image: Image, **options: Any) -> tuple[float, float]:
    found = processed(ImageQuality(**options), [({"target": target}, {"image": image})])
    return found["restoration/PSNR"], found["restoration/SSIM"]


def luma(image: Image) -> NDArray[np.float64]:
    """BT.601, from the standard's coefficients for 8 bits."""
    blue, green, red = np.moveaxis(image.astype(np.float64), 2, 0)
    return 16 + (65.481 * red + 128.553 * green + 24.966 * blue) / 255


def structural(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """SSIM of the paper, equations 13 to 16, by a plain convolution."""
    axis = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))
    window = np.outer(axis, axis) / axis.sum() ** 2

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.einsum("hwij,ij->hw", np.lib.stride_tricks.sliding_window_view(values, (11, 11)), window))

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    spread = mean(x * x) - mean(x) ** 2 + mean(y * y) - mean(y) ** 2
    shared = mean(x * y) - mean(x) * mean(y)
    top = (2 * mean(x) * mean(y) + c1) * (2 * shared + c2)
    return float((top / ((mean(x) ** 2 + mean(y) ** 2 + c1) * (spread + c2))).mean())


def noise_ratio(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return 10 * np.log10(255**2 / ((x - y) ** 2).mean())


@pytest.mark.parametrize("seed", range(5))
def test_luma_by_its_definition(seed: int) -> None:
    target, image = sample_images(seed)
    x, y = luma(target)[4:-4, 4:-4], luma(image)[4:-4, 4:-4]
    noise, likeness = figures(target, image, crop_border=4)
    assert noise == pytest.approx(noise_ratio(x, y), abs=1e-9)
    assert likeness == pytest.approx(100 * structural(x, y), abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_rgb_by_its_definition(seed: int) -> None:
    target, image = sample_images(seed)
    x, y = target.astype(np.float64), image.astype(np.float64)
    noise, likeness = figures(target, image, channel="rgb")
    assert noise == pytest.approx(noise_ratio(x, y), abs=1e-9)
    channels = [structural(x[..., channel], y[..., channel]) for channel in range(3)]
    assert likeness == pytest.approx(100 * np.mean(channels), abs=1e-4)


def test_luma_is_that_of_matlab() -> None:
    # rgb2ycbcr of MATLAB: white 235, black 16, red 81.48, green 144.55, blue 40.97 (before it rounds)
    grey = np.full((16, 16, 3), 0, np.uint8)
    for bgr, value in (((255, 255, 255), 235), ((0, 0, 255), 81.481), ((0, 255, 0), 144.553), ((255, 0, 0), 40.966)):
        image = np.full((16, 16, 3), bgr, np.uint8)
        assert figures(grey, image)[0] == pytest.approx(20 * np.log10(255 / (value - 16)), abs=1e-9)


def test_the_same_image_is_100_of_both() -> None:
    target, _ = sample_images(0)
    assert figures(target, target.copy()) == (100, pytest.approx(100))
    assert figures(target, target.copy(), channel="rgb") == (100, pytest.approx(100))


def test_a_border_does_not_count() -> None:
    target, image = sample_images(1)
    spoilt = image.copy()
    spoilt[:3], spoilt[-3:], spoilt[:, :3], spoilt[:, -3:] = 0, 255, 255, 0
    assert figures(target, spoilt, crop_border=3) == figures(target, image, crop_border=3)
    assert figures(target, spoilt, crop_border=2)[0] < figures(target, image, crop_border=2)[0] - 1


def test_images_count_alike_whatever_their_size() -> None:
    small, large = sample_images(2, 20, 20), sample_images(3, 90, 70)
    metric = ImageQuality()
    both = processed(metric, [({"target": target}, {"image": image}) for target, image in (small, large)])
    assert both["restoration/PSNR"] == pytest.approx((figures(*small)[0] + figures(*large)[0]) / 2)
    assert both["restoration/SSIM"] == pytest.approx((figures(*small)[1] + figures(*large)[1]) / 2)


def test_resampled_is_the_figure_of_repeated_images() -> None:
    metric = ImageQuality()
    processed(metric, [({"target": target}, {"image": image}) for target, image in map(sample_images, range(6))])
    counts = np.concatenate([draws(np.random.default_rng(0), 6, 20), np.zeros((1, 6), np.int64)])
    expected = repeated(metric, metric.per_image, counts)
    np.testing.assert_allclose(metric.resampled(metric.per_image, counts), expected, rtol=1e-12)
    assert np.isnan(expected[-1])


@pytest.mark.parametrize(
    ("target", "image", "words"),
    [
        (np.zeros((20, 30, 3), np.uint8), np.zeros((20, 29, 3), np.uint8), r"got \[20, 29, 3\], expected the target's"),
        (np.zeros((20, 30, 3), np.uint8), np.zeros((20, 30, 3)), r"result: got float64 \[20, 30, 3\], expected uint8"),
        (np.zeros((20, 30), np.uint8), np.zeros((20, 30), np.uint8), r"target: got uint8 \[20, 30\], expected"),
        (np.zeros((14, 30, 3), np.uint8), np.zeros((14, 30, 3), np.uint8), r"image of \[14, 30\] with crop_border 2"),
    ],
)
def test_images_that_cannot_be_compared(target: Any, image: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        figures(target, image, crop_border=2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"channel": "ycbcr"}, 'ImageQuality: unknown channel "ycbcr"; nearest: "y", "rgb"'),
        ({"crop_border": -1}, "ImageQuality: got crop_border -1, expected 0 or more pixels"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        ImageQuality(**options)


def test_a_missing_library_is_reported_before_the_first_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(
        BackendUnavailableError,
        match=r'skimage is not installed, and ImageQuality needs it: pip install "zooport\[evaluate\]"',
    ):
        ImageQuality()
