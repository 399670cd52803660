"""The shipped val split, and the writer that made it."""

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from pycocotools import mask as coco_mask

from zoo.datasets import DIGITS_ROOT
from zoo.datasets.digits.scene import make_scene
from zoo.datasets.digits.split import annotation_records, image_record, write_split
from zoo.datasets.files.image_writing import write_image

VAL = DIGITS_ROOT / "val"
SHIPPED = json.loads((VAL / "annotations.json").read_text(encoding="utf-8"))
MAX_BYTES = 2_000_000


@pytest.mark.skipif(
    int(cv2.__version__.split(".")[0]) < 5,
    reason="made with OpenCV 5; 4.12 draws 0.3 % of the strokes' pixels differently",
)
def test_two_shipped_images_are_what_the_generator_makes(tmp_path: Path) -> None:
    for number in write_split("val", tmp_path, 2):
        stem = f"{number:06d}"
        # Strokes are exact; libjpeg and a processor's rounding may move a pixel's value a little.
        made, shipped = (cv2.imread(str(f / "images" / f"{stem}.jpg")).astype(int) for f in (tmp_path, VAL))
        assert np.abs(made - shipped).mean() < 0.5
        made, shipped = (cv2.imread(str(f / "label_maps" / f"{stem}.png"), -1) for f in (tmp_path, VAL))
        assert (made != shipped).mean() < 1e-4
    written = json.loads((tmp_path / "annotations.json").read_text(encoding="utf-8"))
    assert written["categories"] == SHIPPED["categories"]
    assert written["images"] == SHIPPED["images"][:2]
    expected = [record for record in SHIPPED["annotations"] if record["image_id"] < 2]
    for ours, theirs in zip(written["annotations"], expected, strict=True):
        assert {k: ours[k] for k in ("id", "image_id", "category_id")} == {
            k: theirs[k] for k in ("id", "image_id", "category_id")
        }
        assert np.abs(np.subtract(ours["bbox"], theirs["bbox"])).max() <= 1


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert list(write_split("gate", tmp_path / name, 1)) == [0]
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*"))
    assert [str(file) for file in files] == ["annotations.json", "images/000000.jpg", "label_maps/000000.png"]
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_images_that_are_there_are_not_mixed_with_others(tmp_path: Path) -> None:
    assert list(write_split("gate", tmp_path, 1)) == [0]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with pytest.raises(FileExistsError):
        next(write_split("gate", tmp_path, 1))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("kind", ["images", "label_maps"])
def test_an_image_that_cannot_be_written_is_an_error(tmp_path: Path, kind: str) -> None:
    writing = write_split("gate", tmp_path, 2)
    next(writing)
    shutil.rmtree(tmp_path / kind)
    with pytest.raises(FileNotFoundError, match="000001"):
        next(writing)


def test_an_image_that_cannot_be_encoded_is_an_error(tmp_path: Path) -> None:
    pixels = np.zeros((70_000, 1, 3), np.uint8)  # JPEG has 16 bits for the height
    for name, suffix in (("a.jpg", ".jpg"), ("a", "")):
        with pytest.raises(OSError, match=f'OpenCV cannot encode 1x70000 pixels as "{suffix}": .*/{name}'):
            write_image(tmp_path / name, pixels, [])


def test_the_shipped_split_is_whole_and_small() -> None:
    files = [path for path in VAL.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MAX_BYTES
    assert len(SHIPPED["images"]) == 64
    assert len(files) == 2 * 64 + 1
    assert len({(image["width"], image["height"]) for image in SHIPPED["images"]}) >= 5
    counts = np.bincount([record["image_id"] for record in SHIPPED["annotations"]], minlength=64)
    assert counts.min() >= 2
    assert counts.max() <= 12
    assert {record["category_id"] for record in SHIPPED["annotations"]} == set(range(1, 11))


# pycocotools 2.0.11 converts arrays in a way that numpy 2 deprecates.
@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning")
def test_run_lengths_boxes_and_label_maps_agree() -> None:
    for image in SHIPPED["images"][:8]:
        label_map = cv2.imread(str(VAL / "label_maps" / f"{image['id']:06d}.png"), cv2.IMREAD_UNCHANGED)
        painted = np.zeros_like(label_map)
        for record in (r for r in SHIPPED["annotations"] if r["image_id"] == image["id"]):
            mask = coco_mask.decode(record["segmentation"])
            painted[mask > 0] = record["category_id"]
            assert mask.sum() == record["area"]
            assert coco_mask.toBbox(record["segmentation"]).tolist() == record["bbox"]
        np.testing.assert_array_equal(label_map, painted)


def test_records_of_a_scene() -> None:
    scene = make_scene("val", 5)
    height, width = scene.label_map.shape
    assert image_record(scene, 5)["file_name"] == "000005.jpg"
    assert (image_record(scene, 5)["height"], image_record(scene, 5)["width"]) == (height, width)
    assert [record["id"] for record in annotation_records(scene, 5, 40)] == list(range(40, 40 + len(scene.labels)))
