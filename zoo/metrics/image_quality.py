"""How near a restored image is to the original."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError, nearest
from zoo.metrics.metric import Metric
from zoo.optional_library import optional_library
from zoo.registry import METRICS

LEVELS = 255  # between black and white
MAX_PSNR = 100.0  # dB
SIGMA, WINDOW = 1.5, 11  # pixels: the gaussian window of SSIM's paper
CHANNELS = ("y", "rgb")


@METRICS.register_module()
class ImageQuality(Metric):
    """PSNR in dB and SSIM in points 0..100 (100 is the same image), each the mean over the images.

    - "restoration/PSNR": 10 log10(255^2 / mean squared error), at most 100 dB: that of the same image would be
      infinite, and so would be the mean.
    - "restoration/SSIM": Wang et al., Image Quality Assessment: From Error Visibility to Structural Similarity, 2004:
      gaussian window of 11x11 and sigma 1.5, K1 0.01, K2 0.03, where the window lies wholly in the image.

    Both by scikit-image. By default, as papers on super-resolution have it, of the luma alone: Y of BT.601, 16..235, as
    MATLAB's rgb2ycbcr computes it, but not rounded to whole levels. `channel="rgb"`: the mean over the three channels.
    `crop_border`: pixels at each side that do not count; papers leave out as many as the scale factor.

    Items have "target" uint8 [H, W, 3] BGR; results have `image` uint8 [H, W, 3] BGR.
    """

    default_prefix = "restoration"
    main: ClassVar[str] = "PSNR"
    truth: ClassVar[tuple[str, ...]] = ("target",)
    unit: ClassVar[str] = "dB"

    def __init__(self, crop_border: int = 0, channel: str = "y", **options: Any) -> None:
        super().__init__(**options)
        if crop_border < 0:
            raise InputError(f"ImageQuality: got crop_border {crop_border}, expected 0 or more pixels")
        if channel not in CHANNELS:
            raise InputError(f'ImageQuality: unknown channel "{channel}"; {nearest(str(channel), CHANNELS)}')
        optional_library("skimage", "evaluate", "ImageQuality")  # known before the first image; quick, it loads nothing
        self.crop_border = crop_border
        self.channel = channel

    def entry(self, item: Mapping[str, Any], result: Any) -> tuple[float, float]:
        """PSNR and SSIM of one image. Raises InputError for images that are not alike in size, or are too small."""
        images = {"target": np.asarray(self.field(item, "target")), "result": np.asarray(self.field(result, "image"))}
        for name, image in images.items():
            if image.dtype != np.uint8 or image.shape[2:] != (3,):
                raise InputError(f"{name}: got {image.dtype} {list(image.shape)}, expected uint8 [H, W, 3] BGR")
        target, image = images.values()
        if target.shape != image.shape:
            raise InputError(f"image of a result: got {list(image.shape)}, expected the target's {list(target.shape)}")
        if min(target.shape[:2]) < WINDOW + 2 * self.crop_border:
            raise InputError(
                f"image of {list(target.shape[:2])} with crop_border {self.crop_border}: "
                f"expected {WINDOW} pixels or more to be left; set another crop_border"
            )
        from skimage.metrics import peak_signal_noise_ratio, structural_similarity  # loads all of scipy.stats

        target, image = self._compared(target), self._compared(image)
        with np.errstate(divide="ignore"):  # the same image
            noise = peak_signal_noise_ratio(target, image, data_range=LEVELS)  # type: ignore[no-untyped-call]
        likeness = structural_similarity(  # type: ignore[no-untyped-call]
            target,
            image,
            data_range=LEVELS,
            gaussian_weights=True,
            sigma=SIGMA,
            use_sample_covariance=False,
            channel_axis=2,
        )
        return min(float(noise), MAX_PSNR), 100 * float(likeness)

    def _compared(self, image: NDArray[np.uint8]) -> NDArray[np.float64]:
        """uint8 [H, W, 3] BGR -> float64 [h, w, 1 or 3] of what counts."""
        from skimage.color import rgb2ycbcr

        border = slice(self.crop_border, -self.crop_border or None)
        rgb = image[border, border, ::-1]
        return np.asarray(rgb2ycbcr(rgb)[..., :1] if self.channel == "y" else rgb, np.float64)

    def figures(self, entries: Sequence[tuple[float, float]]) -> dict[str, float]:
        """{"PSNR": dB, "SSIM": points}."""
        noise, likeness = np.mean(entries, axis=0) if entries else (np.nan, np.nan)
        return {"PSNR": float(noise), "SSIM": float(likeness)}

    def resampled(self, per_image: Sequence[tuple[float, float]], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """PSNR of each draw (see Metric)."""
        noise = np.asarray([noise for noise, _ in per_image], np.float64)
        images = counts.sum(axis=1)
        return np.where(images > 0, counts @ noise / np.maximum(images, 1), np.nan)
