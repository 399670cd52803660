"""Training samples of a data set with a truth: where objects are, and which of them are learned."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.training.collating import collate
from zoo.datasets.training.samples import TrainingSamples
from zoo.preprocess import Preprocess
from zoo.tasks import ClassInfo

SIZE = (60, 80)  # of the images
BOX = (20, 10, 50, 40)


class Squares(EvaluationDataset):
    """A white square at BOX on black, in `count` images, with a truth of every kind."""

    def __init__(self, count: int = 1, **truth: Any) -> None:
        self.count, self.more = count, truth
        super().__init__(classes=[ClassInfo("square", 1)])

    def _index(self, faults: Faults) -> list[ImageEntry]:
        return [ImageEntry(Path(f"{index}.png"), index, SIZE) for index in range(self.count)]

    def image_item(self, index: int) -> dict[str, Any]:
        return {"image": np.repeat(mask()[..., None] * np.uint8(255), 3, axis=2), "image_id": index, "path": str(index)}

    def _truth(self, index: int) -> dict[str, Any]:
        corners = np.asarray([[[BOX[0], BOX[1], 2], [BOX[2], BOX[3], 2]]], np.float32)
        return {
            "boxes": np.asarray([BOX], np.float32),
            "labels": np.asarray([index], np.int64),
            "masks": [mask()],
            "keypoints": corners,
            "label_map": mask(),
            **self.more,
        }


def mask() -> np.ndarray:
    pixels = np.zeros(SIZE, np.uint8)
    pixels[BOX[1] : BOX[3], BOX[0] : BOX[2]] = 1
    return pixels


def samples(dataset: EvaluationDataset, length: int = 24, **changes: Any) -> TrainingSamples:
    options = {"rule": Preprocess((90, 120)), "crop": (90, 120), "scale": (0.7, 1.4), "mirror": False, "seed": 0}
    return TrainingSamples(dataset, length, **options | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mirror": True},
        {"crop": (48, 64), "scale": (0.5, 1.2)},
        {"rule": Preprocess((90, 96), resize="stretch"), "crop": (96, 96)},
        {"rule": Preprocess(None, resize="keep")},
    ],
)
def test_the_truth_lies_where_the_image_shows_it(changes: dict[str, Any]) -> None:
    seen = 0
    for sample in (samples(Squares(), **changes)[index] for index in range(24)):
        assert set(np.unique(sample["label_map"])) <= {0, 1, 255}
        if not len(sample["boxes"]):
            continue
        bright = sample["image"].mean(dim=0).numpy() > 0.65
        # the padding is grey, and no square
        (x0, y0, x1, y1), (rows, columns) = sample["boxes"][0].numpy(), np.nonzero(bright)
        edges = np.asarray([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        assert np.abs(edges - [x0, y0, x1, y1]).max() <= 2
        assert (sample["masks"][0].numpy().astype(bool) != bright).mean() < 0.03
        assert ((sample["label_map"].numpy() == 1) != bright).mean() < 0.03
        seen += 1
    assert seen > 12


def test_keypoints_that_are_cut_off_are_not_labelled() -> None:
    visible = [
        float(value)
        for index in range(24)
        for value in samples(Squares(), crop=(48, 64))[index].get("keypoints", np.zeros((0, 2, 3)))[:, :, 2].flatten()
    ]
    assert set(visible) == {0.0, 2.0}


@pytest.mark.parametrize(
    "truth",
    [
        {"iscrowd": np.asarray([1])},
        {"difficult": np.asarray([True])},
        {"boxes": np.asarray([[20, 10, 20, 40]], np.float32)},  # no area
        {
            "boxes": np.zeros((0, 4), np.float32),
            "labels": np.zeros(0, np.int64),
            "masks": [],
            "keypoints": np.zeros((0, 2, 3)),
        },
    ],
)
def test_what_is_not_learned(truth: dict[str, Any]) -> None:
    sample = samples(Squares(**truth))[0]
    assert sample["boxes"].shape == (0, 4)
    assert sample["labels"].shape == (0,)
    assert sample["masks"].shape == (0, 90, 120)
    assert sample["keypoints"].shape == (0, 2, 3)


def test_each_pass_shows_every_image_once_in_another_order() -> None:
    dataset = samples(Squares(count=7), length=21, scale=(1, 1))
    passes = [[int(dataset[turn * 7 + place]["labels"][0]) for place in range(7)] for turn in range(3)]
    assert all(sorted(labels) == list(range(7)) for labels in passes)
    assert len({tuple(labels) for labels in passes}) > 1


def test_a_seed_decides() -> None:
    one, same, other = (samples(Squares(), seed=seed)[3]["image"].numpy() for seed in (4, 4, 5))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_batch_of_classes() -> None:
    dataset = samples(Squares(label=3))
    batch = collate([dataset[0], dataset[1]])
    assert batch["labels"].tolist() == [3, 3]
    assert batch["images"].shape == (2, 3, 90, 120)
    assert len(batch["targets"]) == 2
