from pathlib import Path

import numpy as np
import pytest

from tests.zoo.kitti.test_kitti_files import CALIBRATION, LABEL
from zoo.datasets import KittiDataset, Streets, build_dataset
from zoo.datasets.kitti.writing import KittiFrame, write_kitti
from zoo.datasets.streets.as_kitti import frame_of, frames
from zoo.datasets.streets.objects import CLASSES
from zoo.datasets.streets.scene import make_scene
from zoo.errors import InputError
from zoo.geometry import wrapped_angle
from zoo.kitti import NOMINAL, KittiObject
from zoo.tasks import ClassInfo

NAMES = [ClassInfo(name, None) for name in CLASSES]
CAR = KittiObject("Car", 0.0, 0, 0.0, (500, 100, 600, 180), (1.5, 1.6, 4.0), (0, 1.65, 12), 0.1)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("kitti")
    assert list(write_kitti(folder, "val", frames("shipped", 3))) == [0, 1, 2]
    return folder


def test_scenes_written_as_kitti_are_read_as_they_were(root):
    dataset, streets = KittiDataset(root, classes=NAMES), Streets(classes=NAMES)
    assert len(dataset) == 3
    for index in range(3):
        item, scene = dataset[index], streets[index]
        np.testing.assert_array_equal(item["points"], scene["points"])
        np.testing.assert_array_equal(item["labels"], scene["labels"])
        np.testing.assert_allclose(item["boxes"][:, :6], scene["boxes"][:, :6], atol=0.0101)  # KITTI's two decimals
        assert np.abs(wrapped_angle(item["boxes"][:, 6] - scene["boxes"][:, 6])).max() < 0.0051
        np.testing.assert_array_equal(item["difficulty"], scene["difficulty"])
        assert not item["difficult"].any()
        assert item["image_size"] == (375, 1242)


@pytest.fixture
def of_kitti(tmp_path) -> Path:
    """Frames 000007 and 000003, in this order, with files as KITTI has them."""
    folder = tmp_path / "of_kitti"
    files = {"ImageSets/val.txt": "000007\n000003\n"}
    for name in ("000007", "000003"):
        files |= {f"training/label_2/{name}.txt": LABEL, f"training/calib/{name}.txt": CALIBRATION}
        (folder / "training/velodyne").mkdir(parents=True, exist_ok=True)
        (folder / f"training/velodyne/{name}.bin").write_bytes(np.full((int(name), 4), 0.5, "<f4").tobytes())
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("folder", ["root", "of_kitti"])
def test_what_was_read_is_written_back_unchanged(folder, tmp_path, request):
    root, tmp_path = request.getfixturevalue(folder), tmp_path / "written"
    dataset = KittiDataset(root, classes=NAMES)
    read = [
        KittiFrame(frame.name, dataset[index]["points"], frame.objects, frame.calibration)
        for index, frame in enumerate(dataset.frames)
    ]
    list(write_kitti(tmp_path, "val", read))
    files = sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(files) == 3 * len(dataset) + 1
    for file in files:
        assert (tmp_path / file).read_bytes() == (root / file).read_bytes(), file


def test_a_list_beside_the_folders_and_another_folder_are_found(root, tmp_path):
    (tmp_path / "val.txt").write_text("000001\n", encoding="utf-8")
    (tmp_path / "data").symlink_to(root / "training")
    section = {"type": "KittiDataset", "root": str(tmp_path), "folder": "data"}
    task = type("Task", (), {"classes": tuple(NAMES)})
    dataset = build_dataset(section, task)
    assert [entry.image_id for entry in dataset.entries] == [1]


def written(folder: Path, *objects: KittiObject) -> KittiDataset:
    list(write_kitti(folder, "val", [KittiFrame("000000", np.zeros((2, 4), np.float32), objects, NOMINAL)]))
    return KittiDataset(folder, classes=NAMES)


def test_other_types_are_left_out_and_neighbours_are_ignored(tmp_path):
    types = ("Car", "Van", "Truck", "Person_sitting", "Cyclist", "DontCare")
    item = written(tmp_path, *[CAR._replace(type=kind) for kind in types])[0]
    assert item["labels"].tolist() == [0, 0, 1, 2]
    assert item["difficult"].tolist() == [False, True, True, False]
    assert item["difficulty"].tolist() == [0, -1, -1, 0]


def test_a_frame_without_objects_has_no_boxes(tmp_path):
    item = written(tmp_path)[0]
    assert item["boxes"].shape == (0, 7)
    assert item["labels"].shape == item["difficulty"].shape == (0,)


def test_all_faults_are_named_together(tmp_path):
    list(write_kitti(tmp_path, "val", (frame_of(make_scene("train", index), index) for index in range(2))))
    (tmp_path / "training/label_2/000000.txt").write_text("Car 1 2\n", encoding="utf-8")
    (tmp_path / "training/calib/000001.txt").write_text("P2: 1\n", encoding="utf-8")
    with (tmp_path / "ImageSets/val.txt").open("a", encoding="utf-8") as file:
        file.write("000009\nfirst\n000001\n")
    with pytest.raises(InputError) as error:
        KittiDataset(tmp_path, classes=NAMES)
    message = str(error.value)
    assert message.startswith("dataset KittiDataset has 5 faults: ")
    for part in ("000000.txt, line 1: got 3 words", "line 1: expected P2", "no such file", 'line 4: got "first"'):
        assert part in message
    assert message.count("calib/000001.txt") == 1
    assert "val.txt, line 5: frame 000001 is listed twice, first in line 2; leave one out" in message


def test_a_class_of_two_words_is_found(tmp_path):
    written(tmp_path, CAR._replace(type="Big car"))
    assert KittiDataset(tmp_path, classes=[ClassInfo("big car", None)])[0]["labels"].tolist() == [0]


def test_files_that_are_not_utf8_are_named(tmp_path):
    written(tmp_path)
    files = ("training/label_2/000000.txt", "training/calib/000000.txt")
    for file in files:
        (tmp_path / file).write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="has 2 faults") as error:
        KittiDataset(tmp_path, classes=NAMES)
    assert all(f"{file}: cannot be read ('utf-8'" in str(error.value) for file in files)
    (tmp_path / "ImageSets/val.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"val\.txt: cannot be read \('utf-8'"):
        KittiDataset(tmp_path, classes=NAMES)


def test_two_classes_of_one_type_are_refused(tmp_path):
    with pytest.raises(InputError, match="classes 0 and 1 of the task: both have name 'car'"):
        KittiDataset(tmp_path, classes=[ClassInfo("Car", None), ClassInfo("car", None)])


def test_a_missing_list_is_named(tmp_path):
    with pytest.raises(InputError, match="ImageSets"):
        KittiDataset(tmp_path, classes=NAMES)


def test_images_that_cannot_be_read_are_faults_of_their_files(of_kitti):
    (of_kitti / "training/image_2").mkdir()
    (of_kitti / "training/image_2/000003.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (of_kitti / "training/image_2/000007.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 4)
    with pytest.raises(InputError, match=r"000007\.png: cannot be read .*000003\.png: cannot be read"):
        KittiDataset(of_kitti, classes=NAMES)
