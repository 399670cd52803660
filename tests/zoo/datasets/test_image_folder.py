"""A folder of images."""

import re
from pathlib import Path

import pytest
from PIL import Image

from tests.zoo.datasets.layouts import ANIMALS, write_image
from zoo.datasets import ImageFolder
from zoo.errors import InputError


def test_images_alone_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for name in ("b.PNG", "a.jpg", "c/d.jpg"):
        write_image(tmp_path / name, (20, 30))
    (tmp_path / "notes.txt").write_text("no image", encoding="utf-8")
    dataset = ImageFolder(tmp_path, classes=ANIMALS)
    assert [Path(item["path"]).name for item in dataset] == ["a.jpg", "b.PNG"]
    assert [item["image_id"] for item in dataset] == [0, 1]
    assert set(dataset[0]) == {"image", "image_id", "path"}
    assert len(ImageFolder(tmp_path, pattern="**/*", classes=ANIMALS)) == 3
    assert len(ImageFolder(str(tmp_path), pattern="*.jpg", classes=ANIMALS)) == 1


def test_links_to_folders_are_followed_and_a_loop_ends(tmp_path: Path) -> None:
    write_image(tmp_path / "elsewhere/b.png", (20, 30))
    write_image(tmp_path / "root/sub/a.png", (20, 30))
    (tmp_path / "root/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "root/sub/loop").symlink_to(tmp_path / "root")
    dataset = ImageFolder(tmp_path / "root", "**/*.png", classes=ANIMALS)
    assert [Path(item["path"]).relative_to(tmp_path / "root").as_posix() for item in dataset] == [
        "linked/b.png",
        "sub/a.png",
    ]
    assert len(ImageFolder(tmp_path / "root", "linked/**/*.png", classes=ANIMALS)) == 1


def test_a_link_to_itself_or_to_nothing_hides_no_other_file(tmp_path: Path) -> None:
    """In whatever order the file system lists them."""
    for number in range(20):
        write_image(tmp_path / f"sub/{number}.png", (20, 30))
        (tmp_path / f"sub/{number}-itself").symlink_to(tmp_path / f"sub/{number}-itself")
        (tmp_path / f"sub/{number}-nowhere").symlink_to(tmp_path / "nowhere")
    assert len(ImageFolder(tmp_path, "**/*.png", classes=ANIMALS)) == 20


def test_images_stand_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by a quarter
    Image.new("RGB", (30, 20)).save(tmp_path / "a.jpg", exif=exif)
    assert ImageFolder(tmp_path, classes=ANIMALS)[0]["image"].shape == (30, 20, 3)


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'no images match pattern "\*", expected one or more of .bmp, .jpeg'):
        ImageFolder(tmp_path, classes=ANIMALS)
    with pytest.raises(InputError, match=r"/none: no such folder"):
        ImageFolder(tmp_path / "none", classes=ANIMALS)
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).write_bytes(b"no image")
    (tmp_path / "c.jpg").mkdir()
    with pytest.raises(InputError, match=r"has 3 faults: .*/a.jpg: not an image that can be read .*/b.jpg: .*/c.jpg: "):
        ImageFolder(tmp_path, classes=ANIMALS)


@pytest.mark.parametrize("pattern", ["", "/tmp/*"])
def test_a_pattern_that_is_none(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(InputError, match=f'ImageFolder: pattern "{re.escape(pattern)}": .*; give a glob such as'):
        ImageFolder(tmp_path, pattern, classes=ANIMALS)
