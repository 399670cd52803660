"""Single digits, cut out of the scenes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.datasets.digits.crops import DigitsClassification, crop_around
from zoo.datasets.digits.on_disk import DigitsDetection
from zoo.preprocess import MIN_SIDE


def test_there_is_one_crop_for_each_digit_of_val() -> None:
    scenes, crops = DigitsDetection(), DigitsClassification()
    truths = [scenes.truth(index) for index in range(len(scenes))]
    assert len(crops) == sum(len(truth["labels"]) for truth in truths) > 200
    item, box = crops[3], truths[0]["boxes"][3]
    assert item["label"] + 1 == truths[0]["labels"][3]  # the scenes have a background
    assert item["image"].shape[:2] == crops.entries[3].size
    padded = np.pad(scenes[0]["image"], ((400, 400), (400, 400), (0, 0)), constant_values=114)
    side = item["image"].shape[0]
    left, top = (round(float(low + high - side) / 2) + 400 for low, high in zip(box[:2], box[2:], strict=True))
    assert np.array_equal(item["image"], padded[top : top + side, left : left + side])


@given(st.floats(0, 60), st.floats(0, 40), st.floats(1, 60), st.floats(1, 40))
def test_a_crop_may_reach_past_the_image(left: float, top: float, width: float, height: float) -> None:
    image = np.zeros((80, 120, 3), np.uint8)
    box = np.array([left, top, left + width, top + height], np.float32)
    crop = crop_around(image, box)
    side = max(MIN_SIDE, round(1.5 * float((box[2:] - box[:2]).max())))
    assert crop.shape == (side, side, 3)
    assert set(np.unique(crop)) <= {0, 114}


def test_each_scene_is_read_once_for_all_its_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    crops = DigitsClassification()
    read, scenes_read = crops.scenes.image_item, []
    monkeypatch.setattr(crops.scenes, "image_item", lambda scene: scenes_read.append(scene) or read(scene))
    assert len([crop["image"] for crop in crops]) > len(crops.scenes)
    assert scenes_read == sorted({scene for scene, _, _ in crops.digits})
    again = crops[0]["image"]
    np.testing.assert_array_equal(again, DigitsClassification()[0]["image"])
