"""A folder for each class."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from zoo.datasets import ClassFolders
from zoo.errors import InputError
from zoo.tasks import ClassInfo

CLASSES = [ClassInfo(name, None) for name in ("cat", "dog", "owl")]


def image(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.full((40, 50, 3), 90, np.uint8))


def test_items_are_in_the_order_of_the_classes(tmp_path: Path) -> None:
    for name in ("owl/a.png", "cat/b.png", "cat/a.jpg"):
        image(tmp_path / name)
    (tmp_path / "cat/readme.txt").write_text("no image")
    dataset = ClassFolders(tmp_path, classes=CLASSES)
    assert [(Path(item["path"]).name, item["label"], item["image_id"]) for item in dataset] == [
        ("a.jpg", 0, 0),
        ("b.png", 0, 1),
        ("a.png", 2, 2),
    ]


def test_two_classes_of_one_name_are_refused(tmp_path: Path) -> None:
    image(tmp_path / "cat/a.png")
    with pytest.raises(InputError, match="classes 0 and 3 of the task: both have name 'cat'"):
        ClassFolders(tmp_path, classes=[*CLASSES, CLASSES[0]])


def test_all_faults_are_found_at_once(tmp_path: Path) -> None:
    image(tmp_path / "cats/a.png")
    (tmp_path / "dog").mkdir()
    (tmp_path / "dog/broken.png").write_bytes(b"nothing")
    with pytest.raises(InputError) as error:
        ClassFolders(tmp_path, classes=CLASSES)
    assert 'no class "cats"; nearest: "cat"' in str(error.value)
    assert "broken.png" in str(error.value)


@pytest.mark.parametrize(
    ("name", "words"), [("lost", "no such folder"), ("", "no images in folders named cat, dog, owl")]
)
def test_a_root_without_images_is_an_error(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ClassFolders(tmp_path / name, classes=CLASSES)
