"""Small copies of the images of a folder, at one scale or several, with the large ones as their truth."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from zoo.datasets import PhotographCrops, SuperResolutionFolder, build_dataset
from zoo.datasets.photographs.low_resolution import low_resolution
from zoo.errors import InputError
from zoo.tasks.super_resolution import SuperResolution


def folder(root: Path, *sizes: tuple[int, int]) -> Path:
    """Images of random pixels of these (height, width), 0.png and so on."""
    for number, size in enumerate(sizes):
        pixels = np.random.default_rng(number).integers(0, 256, (*size, 3), dtype=np.uint8)
        cv2.imwrite(str(root / f"{number}.png"), pixels)
    return root


def test_one_scale(tmp_path: Path) -> None:
    folder(tmp_path, (100, 121), (99, 150))
    dataset = build_dataset({"type": "SuperResolutionFolder", "root": tmp_path, "scale": 3}, SuperResolution())
    assert len(dataset) == 2
    item = dataset[0]
    assert (item["image"].shape, item["target"].shape) == ((33, 40, 3), (99, 120, 3))
    assert "inputs" not in item
    np.testing.assert_array_equal(item["target"], cv2.imread(item["path"])[:99, :120])
    small = Image.fromarray(item["target"]).resize((40, 33), Image.Resampling.BICUBIC)
    np.testing.assert_array_equal(item["image"], np.asarray(small))
    np.testing.assert_array_equal(dataset.image_item(0)["image"], item["image"])
    assert "target" not in dataset.image_item(0)


def test_several_scales_tell_the_model(tmp_path: Path) -> None:
    dataset = SuperResolutionFolder(folder(tmp_path, (130, 129), (140, 141)), scales=(2, 4))
    (alone,) = SuperResolutionFolder(tmp_path, scales=(2,)).scales
    assert (alone, SuperResolutionFolder(tmp_path, scales=(2,))[0]["inputs"]) == (2, {"scale": 2})
    assert [(Path(item["path"]).name, item["inputs"], item["image"].shape[:2]) for item in dataset] == [
        ("0.png", {"scale": 2}, (65, 64)),
        ("1.png", {"scale": 2}, (70, 70)),
        ("0.png", {"scale": 4}, (32, 32)),
        ("1.png", {"scale": 4}, (35, 35)),
    ]
    assert [item["image_id"] for item in dataset] == [0, 1, 2, 3]


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no images, expected one or more of"):
        SuperResolutionFolder(tmp_path, 3)
    folder(tmp_path, (100, 95))
    with pytest.raises(InputError, match="got 95x100 pixels, expected 96 or more, 32 when made small"):
        SuperResolutionFolder(tmp_path, 3)
    with pytest.raises(InputError, match=r"got scales \(\), expected integers, 1 or more"):
        SuperResolutionFolder(tmp_path, scales=())
    for scales in ((None, None), (3, (2, 3))):
        with pytest.raises(InputError, match="expected one of the two"):
            SuperResolutionFolder(tmp_path, *scales)


def test_the_downscale_keeps_the_mean_and_folds_nothing() -> None:
    """Stripes finer than the small pixels become grey, which a plain bicubic resize would show as stripes."""
    stripes = np.repeat(np.tile(np.array([0, 255], np.uint8), 48)[None], 96, axis=0)[..., None].repeat(3, axis=2)
    small = low_resolution(stripes, 4)[2:-2, 2:-2].astype(int)
    assert abs(small - 127.5).max() <= 2


def test_the_shipped_crops() -> None:
    dataset = PhotographCrops(scales=(2, 3, 4))
    assert len(dataset) == 30
    assert {dataset.image_item(index)["image"].shape[:2] for index in (0, 10, 20)} == {(127, 149), (85, 99), (63, 74)}
