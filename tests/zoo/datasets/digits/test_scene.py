"""The generator of digits: seeded, disjoint splits, visible masks, tight boxes."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from zoo.datasets.digits.photographs import TRAIN_PHOTOGRAPHS, VAL_PHOTOGRAPHS
from zoo.datasets.digits.scene import MAX_OBJECTS, MIN_OBJECTS, SPLITS, Scene, _digits, make_scene, photographs_of
from zoo.errors import InputError

PAGE = Path(__file__).parents[4] / "zoo/data/digits/README.md"
FIELDS = [field.name for field in dataclasses.fields(Scene)]


@pytest.mark.parametrize("split", SPLITS)
def test_one_index_always_gives_one_scene(split: str) -> None:
    make_scene(split, 4)  # the order of calls does not matter
    first, again = make_scene(split, 3), make_scene(split, 3)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))


def test_indices_and_splits_differ() -> None:
    images = [make_scene(split, index).image for split in SPLITS for index in (0, 1)]
    assert len({image.tobytes() for image in images}) == len(images)


@pytest.mark.parametrize("index", range(12))
def test_masks_boxes_and_label_map_agree(index: int) -> None:
    scene = make_scene("val", index)
    height, width = scene.label_map.shape
    assert width >= 320
    assert height >= 256
    assert scene.image.shape == (height, width, 3)
    assert MIN_OBJECTS <= len(scene.labels) <= MAX_OBJECTS
    assert scene.masks.sum(axis=0).max() == 1, "visible strokes must not overlap"
    expected = np.zeros_like(scene.label_map)
    for mask, box, label in zip(scene.masks, scene.boxes.astype(int), scene.labels, strict=True):
        expected[mask] = label
        ys, xs = np.nonzero(mask)
        assert box.tolist() == [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]
        assert mask.sum() >= 60, "a digit is never mostly hidden"
    np.testing.assert_array_equal(scene.label_map, expected)
    assert scene.labels.min() >= 1
    assert scene.labels.max() <= 10


def test_the_stroke_stands_out_from_its_surroundings() -> None:
    scene = make_scene("val", 0)
    gaps = []
    for mask, box in zip(scene.masks, scene.boxes.astype(int), strict=True):
        inside = scene.image[mask].mean()
        region = np.zeros_like(mask)
        region[box[1] : box[3], box[0] : box[2]] = True
        gaps.append(abs(inside - scene.image[region & (scene.label_map == 0)].mean()))
    assert np.median(gaps) > 30


def test_handwritten_samples_of_the_splits_are_disjoint() -> None:
    seen = [{cells.tobytes() for cells in _digits(split)[0]} for split in SPLITS]
    assert sum(len(_digits(split)[0]) for split in SPLITS) == 1797
    for i, first in enumerate(seen):
        for second in seen[i + 1 :]:
            assert not first & second


def test_photographs_of_train_are_not_those_of_val_and_gate() -> None:
    assert not set(TRAIN_PHOTOGRAPHS) & set(VAL_PHOTOGRAPHS)
    assert photographs_of("gate") == photographs_of("val") == VAL_PHOTOGRAPHS
    assert {make_scene("gate", i).photograph for i in range(12)} <= {p.name for p in VAL_PHOTOGRAPHS}
    assert {make_scene("train", i).photograph for i in range(12)} <= {p.name for p in TRAIN_PHOTOGRAPHS}


def test_the_data_sets_page_has_the_licence_of_each_photograph() -> None:
    rows = re.findall(
        r"^\| (\S+) \| (scikit-\w+) \| (\w+)(?:, gate)? \| \w[^|]* \| \w[^|]* \|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    splits = {"train": TRAIN_PHOTOGRAPHS, "val": VAL_PHOTOGRAPHS}
    assert rows == [(each.name, each.library, split) for split, photographs in splits.items() for each in photographs]


def test_unknown_split_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r'unknown split "vall" of digits; nearest: "val"'):
        make_scene("vall", 0)
