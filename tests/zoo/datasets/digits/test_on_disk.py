"""Reading a split from disk, and the training samples."""

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from pycocotools import mask as coco_mask

from zoo.datasets import (
    DIGITS_ROOT,
    DigitsDetection,
    DigitsInstances,
    DigitsKeypoints,
    DigitsSegmentation,
    DigitsTraining,
)
from zoo.datasets.coco.runs import mask_of
from zoo.datasets.digits.contact_sheet import CELL, COLUMNS, draw_contact_sheet
from zoo.datasets.digits.corners import corner_points
from zoo.datasets.digits.split import write_split
from zoo.datasets.training.collating import collate
from zoo.errors import InputError
from zoo.tasks import ClassInfo

VAL = DIGITS_ROOT / "val"


def test_detection_items() -> None:
    dataset = DigitsDetection()
    assert len(dataset) == 64
    item = dataset[7]
    assert item["image"].dtype == np.uint8
    assert (item["image_id"], Path(item["path"]).name) == (7, "000007.jpg")
    written = json.loads((VAL / "annotations.json").read_text(encoding="utf-8"))["annotations"]
    records = [record for record in written if record["image_id"] == 7]
    assert item["boxes"].dtype == np.float32
    for box, label, area, record in zip(item["boxes"], item["labels"], item["areas"], records, strict=True):
        x, y, w, h = record["bbox"]
        assert box.tolist() == [x, y, x + w, y + h]
        assert (label, area) == (record["category_id"], record["area"])


def test_segmentation_items() -> None:
    item = DigitsSegmentation()[7]
    boxes = DigitsDetection()[7]
    assert item["label_map"].shape == item["image"].shape[:2]
    assert item["label_map"].dtype == np.uint8
    assert set(np.unique(item["label_map"])) == {0, *boxes["labels"]}
    assert (item["image_id"], item["path"]) == (7, boxes["path"])
    np.testing.assert_array_equal(item["image"], boxes["image"])


def test_instance_items() -> None:
    item, boxes, pixels = (kind()[7] for kind in (DigitsInstances, DigitsDetection, DigitsSegmentation))
    assert item["boxes"].tolist() == boxes["boxes"].tolist()
    assert [coco_mask.area(mask) for mask in item["masks"]] == item["areas"].tolist()
    assert sum(item["areas"]) == (pixels["label_map"] > 0).sum()
    corners = [coco_mask.toBbox(mask)[:2].tolist() for mask in item["masks"]]
    assert corners == item["boxes"][:, :2].tolist()


def test_labels_are_the_models_own() -> None:
    backwards = [ClassInfo(str(digit), digit + 1) for digit in reversed(range(10))]
    mapped, plain = DigitsDetection(classes=backwards)[7]["labels"], DigitsDetection()[7]["labels"]
    assert mapped.tolist() == (10 - plain).tolist()


def test_a_missing_split_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"make it with python tools/make_digits.py gate --out {tmp_path}"):
        DigitsDetection("gate", tmp_path)
    with pytest.raises(InputError, match='unknown split "vall" of digits; nearest: "val"'):
        DigitsSegmentation("vall")


def test_broken_files_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "val"
    shutil.copytree(VAL, folder)
    (folder / "images" / "000000.jpg").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"000000.jpg: not an image that can be read"):
        DigitsDetection("val", tmp_path)
    shutil.copy(VAL / "images" / "000000.jpg", folder / "images")
    cv2.imwrite(str(folder / "label_maps" / "000001.png"), np.zeros((8, 9), np.uint8))
    with pytest.raises(InputError, match=r"000001.png: the label map is 9x8, its image \d+x\d+"):
        DigitsSegmentation("val", tmp_path)
    (folder / "annotations.json").write_text(json.dumps({"images": []}), encoding="utf-8")
    with pytest.raises(InputError, match=r'annotations.json, line 1: no list "categories"'):
        DigitsInstances("val", tmp_path)


def test_the_contact_sheet_shows_every_image(tmp_path: Path) -> None:
    for _ in write_split("gate", tmp_path / "gate", 9):
        pass
    draw_contact_sheet("gate", tmp_path, tmp_path / "new" / "sheet.jpg")
    sheet = cv2.imread(str(tmp_path / "new" / "sheet.jpg"))
    assert sheet.shape == (2 * CELL[0], COLUMNS * CELL[1], 3)
    assert sheet[: CELL[0]].std() > 10
    assert sheet[CELL[0] :, : CELL[1]].std() > 10
    assert (sheet[CELL[0] + 8 :, CELL[1] + 8 :] > 250).all()


def test_training_samples_keep_boxes_on_their_strokes() -> None:
    dataset = DigitsTraining(8, size=(256, 320), crop=(256, 320), scale=(0.8, 1.3), num_scenes=4, seed=3)
    whole = 0
    for index in range(8):
        sample = dataset[index]
        assert sample["image"].shape == (3, 256, 320)
        assert 0 <= sample["image"].min() <= sample["image"].max() <= 1
        labels = sample["label_map"].numpy()
        for box, label in zip(sample["boxes"].numpy(), sample["labels"].numpy(), strict=True):
            x1, y1, x2, y2 = box
            assert 0 <= x1 < x2 <= 320
            assert 0 <= y1 < y2 <= 256
            rows, columns = np.nonzero(labels[int(y1) : int(np.ceil(y2)), int(x1) : int(np.ceil(x2))] == label)
            # The stroke reaches the edges of its box, up to the rounding of the scaled image; not those of a cut.
            gaps = [columns.min(), rows.min(), x2 - x1 - columns.max(), y2 - y1 - rows.max()]
            cut = [x1 == 0, y1 == 0, x2 == 320, y2 == 256]
            if not any(cut):
                assert max(gaps) <= 4
                whole += 1
    assert whole >= 10


def test_training_samples_have_masks_and_corners_where_they_are_asked_for() -> None:
    options = {"size": (256, 320), "crop": (128, 160), "scale": (0.8, 1.3), "num_scenes": 4, "seed": 3}
    plain, dataset = DigitsTraining(8, **options), DigitsTraining(8, **options, details=("masks", "keypoints"))
    hidden = 0
    for index in range(8):
        sample = dataset[index]
        assert all(sample[key].equal(value) for key, value in plain[index].items())
        count = len(sample["labels"])
        assert sample["masks"].shape == (count, 128, 160)
        assert sample["keypoints"].shape == (count, 4, 3)
        for mask, points, box, label in zip(
            *(sample[key].numpy() for key in ("masks", "keypoints", "boxes", "labels")), strict=True
        ):
            assert (sample["label_map"].numpy()[mask > 0] == label).all()
            inside = ((points[:, :2] >= 0) & (points[:, :2] < (160, 128))).all(axis=1)
            assert (points[:, 2] == 2 * inside).all()
            hidden += (~inside).sum()
            if inside.all():
                ys, xs = np.nonzero(mask)
                np.testing.assert_allclose([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1], box, atol=4)
                np.testing.assert_allclose(points[:, :2], corner_points(mask > 0)[:, :2], atol=6)
    assert hidden
    assert set(collate([dataset[0]])["targets"][0]) == {"boxes", "labels", "masks", "keypoints"}


def test_keypoints_are_the_corners_of_the_strokes() -> None:
    mask = np.zeros((6, 8), bool)
    mask[1, 2] = mask[2, 6] = mask[4, 1] = mask[5, 5] = mask[3, 3] = True
    assert corner_points(mask).tolist() == [[2.5, 1.5, 2], [6.5, 2.5, 2], [5.5, 5.5, 2], [1.5, 4.5, 2]]
    assert corner_points(np.ones((2, 3), bool)).tolist() == [[0.5, 0.5, 2], [2.5, 0.5, 2], [2.5, 1.5, 2], [0.5, 1.5, 2]]
    masks, points = DigitsInstances(), DigitsKeypoints()
    for index in (0, 5):
        item, truth = points[index], masks[index]
        assert "masks" not in item
        assert item["keypoints"].shape == (len(truth["masks"]), 4, 3)
        x1, y1, x2, y2 = item["boxes"].T[:, :, None]
        x, y = item["keypoints"][:, :, 0], item["keypoints"][:, :, 1]
        assert ((x1 < x) & (x < x2) & (y1 < y) & (y < y2)).all()
        for mask, corners in zip(truth["masks"], item["keypoints"].astype(int), strict=True):
            assert mask_of(mask)[corners[:, 1], corners[:, 0]].all()


def test_training_samples_are_seeded_and_collate() -> None:
    options = {"size": (256, 320), "crop": (96, 128), "scale": (0.8, 1.3), "num_scenes": 2}
    first, again = (DigitsTraining(4, **options, seed=1)[2] for _ in range(2))
    other = DigitsTraining(4, **options, seed=2)[2]
    assert all(first[key].equal(again[key]) for key in first)
    assert not first["image"].equal(other["image"])
    batch = collate([first, other])
    assert batch["images"].shape == (2, 3, 96, 128)
    assert batch["label_maps"].shape == (2, 96, 128)
    assert [set(target) for target in batch["targets"]] == [{"boxes", "labels"}] * 2
