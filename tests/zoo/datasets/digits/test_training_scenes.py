"""Images for calibration: of the training split, never of val or gate."""

import numpy as np
import pytest

from zoo.datasets import DigitsTrainingScenes, TrainingPhotographCrops
from zoo.datasets.digits.photographs import TRAIN_PHOTOGRAPHS
from zoo.datasets.digits.scene import make_scene
from zoo.errors import InputError


def test_they_are_the_first_scenes_of_the_training_split() -> None:
    dataset = DigitsTrainingScenes(count=3)
    assert len(dataset) == 3
    np.testing.assert_array_equal(dataset[2]["image"], make_scene("train", 2).image)
    with pytest.raises(InputError, match="got count 0, expected 1 or more"):
        DigitsTrainingScenes(count=0)


def test_crops_are_of_the_training_photographs() -> None:
    dataset = TrainingPhotographCrops(scales=(2, 3, 4))
    names = {str(entry.path).rpartition("-")[0] for entry in dataset.entries}
    assert names == {photograph.name for photograph in TRAIN_PHOTOGRAPHS}
    item = dataset[1]
    assert item["inputs"] == {"scale": 3}
    assert item["image"].shape == (85, 99, 3)
    assert item["image"].dtype == np.uint8
    assert "inputs" not in TrainingPhotographCrops(scale=2)[0]
    with pytest.raises(InputError, match="expected one of the two"):
        TrainingPhotographCrops()
