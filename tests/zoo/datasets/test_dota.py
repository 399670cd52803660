"""DOTA's layout on disk."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from zoo.datasets import DotaDetection
from zoo.datasets.training.samples import TrainingSamples
from zoo.errors import InputError
from zoo.geometry.rotated import rotated_corners, rotated_iou
from zoo.preprocess import Preprocess
from zoo.tasks import ClassInfo

CLASSES = (ClassInfo("ship", 1), ClassInfo("plane", 2))
LINES = "imagesource:none\ngsd:0.1\n20 10 40 10 40 20 20 20 ship 0\n50 30 60 40 55 45 45 35 plane 1\n"


def folder(root: Path, text: str = LINES) -> dict[str, Any]:
    for name in ("images", "labelTxt"):
        (root / name).mkdir()
    cv2.imwrite(str(root / "images" / "P0001.png"), np.zeros((60, 80, 3), np.uint8))
    (root / "labelTxt" / "P0001.txt").write_text(text, encoding="utf-8")
    return {"images": root / "images", "annotations": root / "labelTxt", "classes": CLASSES}


def test_items(tmp_path: Path) -> None:
    (item,) = list(DotaDetection(**folder(tmp_path)))
    assert item["image"].shape == (60, 80, 3)
    assert item["labels"].tolist() == [0, 1]
    assert item["difficult"].tolist() == [False, True]
    assert np.allclose(item["rotated_boxes"][0], [30, 15, 20, 10, 0])
    assert np.allclose(item["rotated_boxes"][1], [52.5, 37.5, np.hypot(10, 10), np.hypot(5, 5), np.pi / 4], atol=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3 ship 0\n", r"P0001.txt, line 1: got 5 words, expected x1 y1"),
        ("\n1 2 3 4 5 6 7 8 boat 0\n", r'P0001.txt, line 2: unknown class "boat", none of the task\'s classes'),
    ],
)
def test_faults_have_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DotaDetection(**folder(tmp_path, text))


def test_an_image_without_annotations(tmp_path: Path) -> None:
    options = folder(tmp_path)
    (tmp_path / "labelTxt" / "P0001.txt").unlink()
    with pytest.raises(InputError, match=r"P0001.png: annotation .*P0001.txt: no such file"):
        DotaDetection(**options)
    with pytest.raises(InputError, match="no such folder"):
        DotaDetection(tmp_path / "image", tmp_path / "labelTxt", classes=CLASSES)


def test_training_samples_move_the_boxes_with_the_image(tmp_path: Path) -> None:
    options = folder(tmp_path)
    image = np.zeros((60, 80, 3), np.uint8)
    cv2.fillPoly(image, [np.array([[20, 10], [40, 10], [40, 20], [20, 20]])], (255, 255, 255))
    cv2.imwrite(str(options["images"] / "P0001.png"), image)
    samples = TrainingSamples(
        DotaDetection(**options),
        20,
        rule=Preprocess((64, 96)),
        crop=(64, 96),
        scale=(0.7, 1.2),
        mirror=True,
        seed=0,
    )
    every = [samples[index] for index in range(len(samples))]
    learned = [sample for sample in every if len(sample["labels"])]
    assert len(learned) > 10
    for sample in learned:
        assert sample["labels"].tolist() == [0]  # a difficult one is not learned
        corners = rotated_corners(sample["rotated_boxes"].numpy()[0])
        (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
        bright = np.argwhere(sample["image"].mean(dim=0).numpy() > 0.7)[:, ::-1]
        inside = (bright > [x0 - 2, y0 - 2]).all(axis=1) & (bright < [x1 + 1, y1 + 1]).all(axis=1)
        assert inside.mean() > 0.9


def test_mirrored_boxes_are_those_of_the_mirrored_corners() -> None:
    from zoo.datasets.training.samples import mirrored

    boxes = np.array([[30, 20, 16, 8, 0.5], [50, 30, 20, 6, -1.2]], np.float32)
    item = {"image": np.zeros((60, 80, 3), np.uint8), "rotated_boxes": boxes, "labels": np.array([0, 1])}
    corners = rotated_corners(boxes) * [-1, 1] + [80, 0]
    for box, wanted in zip(mirrored(item)["rotated_boxes"], corners, strict=True):
        apart = np.linalg.norm(rotated_corners(box)[:, None] - wanted[None], axis=2)
        assert apart.min(axis=0).max() < 1e-4
    assert rotated_iou(mirrored(mirrored(item))["rotated_boxes"], boxes).diagonal().min() > 0.999
