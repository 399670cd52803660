"""Label maps: the lookup of values, and the layouts of Cityscapes and ADE20K."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.zoo.datasets.layouts import write_image, write_label_map
from zoo.datasets import ADE20K, Cityscapes, LabelMaps
from zoo.datasets.label_maps.lookup import LabelLookup
from zoo.errors import InputError
from zoo.tasks import ClassInfo

SKY_AND_TREE = [ClassInfo("sky", 3), ClassInfo("tree", 5)]
LABEL_IDS = [ClassInfo("road", 7), ClassInfo("car", 26)]
TRAIN_IDS = [ClassInfo("road", 0), ClassInfo("car", 13)]


@given(
    st.lists(
        st.none() | st.integers(0, 255), min_size=1, max_size=255, unique_by=lambda i: object() if i is None else i
    ),
    st.none() | st.sets(st.integers(0, 255), max_size=5),
    st.lists(st.integers(0, 255), min_size=1, max_size=40),
)
def test_every_value_is_a_class_or_ignored_or_an_error(
    category_ids: list[int | None], ignored: set[int] | None, values: list[int]
) -> None:
    classes = [ClassInfo("c", category_id) for category_id in category_ids]
    if both := (ignored or set()) & set(category_ids):
        with pytest.raises(InputError, match=f"has category_id {next(iter(both))}," if len(both) == 1 else "ignores"):
            LabelLookup(classes, ignored)
        return
    lookup = LabelLookup(classes, ignored)
    assert lookup.takes_all == (ignored is None or {*ignored, *category_ids} >= set(range(256)))
    expected = []
    for value in values:
        if value in category_ids:
            expected.append(category_ids.index(value))
        elif ignored is None or value in ignored:
            expected.append(255)
    pixels = np.asarray([values], np.uint8)
    if len(expected) == len(values):
        assert lookup(pixels, Path("a.png")).tolist() == [expected]
    else:
        with pytest.raises(InputError, match=r"a.png: got values \d+.*, expected the category_id of a class"):
            lookup(pixels, Path("a.png"))


def test_classes_that_do_not_fit_a_byte() -> None:
    with pytest.raises(InputError, match="task with 256 classes: a label map has 8 bits, expected 255 classes at most"):
        LabelLookup([ClassInfo(str(i), i) for i in range(256)], set())
    with pytest.raises(InputError, match='class "far" has category_id 256, expected 0 to 255'):
        LabelLookup([ClassInfo("far", 256)], set())
    with pytest.raises(InputError, match="classes 0 and 1 of the task: both have category_id 4"):
        LabelLookup([ClassInfo("a", 4), ClassInfo("b", 4)], set())


@pytest.mark.parametrize("value", [-1, 256, 254.5, True, "5", [5]])
def test_ignored_values_that_no_label_map_has(tmp_path: Path, value: object) -> None:
    values: Any = [255, value]
    with pytest.raises(InputError) as raised:
        LabelMaps(tmp_path, tmp_path, ignored=values, classes=SKY_AND_TREE)
    assert str(raised.value) == f"ignored: got {value!r}, expected values of the label maps, 0 to 255"


def write_ade20k(root: Path, name: str, values: object, size: tuple[int, int] = (20, 30)) -> None:
    write_image(root / "images" / "validation" / f"{name}.jpg", size)
    write_label_map(root / "annotations" / "validation" / f"{name}.png", values)


class TestADE20K:
    def test_items_are_in_the_order_of_their_names(self, tmp_path: Path) -> None:
        values = np.zeros((20, 30), np.uint8)
        values[:, :10], values[:, 10:20] = 5, 3
        write_ade20k(tmp_path, "ADE_val_00000002", values)
        write_ade20k(tmp_path, "ADE_val_00000001", np.full((25, 10), 3), (25, 10))
        dataset = ADE20K(tmp_path, classes=SKY_AND_TREE)
        assert [Path(dataset.image_item(i)["path"]).stem[-1] for i in range(2)] == ["1", "2"]
        np.testing.assert_array_equal(dataset[0]["label_map"], np.zeros((25, 10)))
        np.testing.assert_array_equal(dataset[1]["label_map"][0], [1] * 10 + [0] * 10 + [255] * 10)
        assert (dataset[1]["image_id"], dataset[1]["label_map"].dtype) == (1, np.uint8)

    def test_strange_values_are_named_before_an_item_is_read(self, tmp_path: Path) -> None:
        write_ade20k(tmp_path, "a", np.full((20, 30), 3))
        write_ade20k(tmp_path, "b", np.arange(600).reshape(20, 30) % 8)
        write_ade20k(tmp_path, "c", np.full((20, 30), 255))  # which other layouts ignore
        with pytest.raises(InputError) as raised:
            ADE20K(tmp_path, classes=SKY_AND_TREE)
        message = str(raised.value)
        assert "dataset ADE20K has 2 faults" in message
        assert "b.png: got values 1, 2, 4, 6, 7, expected the category_id of a class or an ignored value" in message
        assert "c.png: got values 255, expected the category_id of a class" in message

    def test_strange_values_since_the_check(self, tmp_path: Path) -> None:
        write_ade20k(tmp_path, "a", np.full((20, 30), 3))
        dataset = ADE20K(tmp_path, classes=SKY_AND_TREE)
        write_ade20k(tmp_path, "a", np.full((20, 30), 4))
        with pytest.raises(InputError, match=r"a.png: got values 4, expected the category_id of a class or "):
            dataset[0]

    def test_classes_numbered_from_0_are_refused(self, tmp_path: Path) -> None:
        write_ade20k(tmp_path, "a", np.full((20, 30), 3))
        classes = [ClassInfo(str(number), number) for number in range(150)]
        with pytest.raises(InputError) as raised:
            ADE20K(tmp_path, classes=classes)
        assert str(raised.value) == (
            'class "0" has category_id 0, a value that this data set ignores (0), expected the value of the class in '
            "the label maps; number the config's task as the label maps are, or give the class no category_id"
        )

    def test_all_faults_of_the_files_are_shown_together(self, tmp_path: Path) -> None:
        for name in "abcde":
            write_ade20k(tmp_path, name, np.full((20, 30), 3))
        images, label_maps = (tmp_path / kind / "validation" for kind in ("images", "annotations"))
        (images / "a.jpg").unlink()
        (label_maps / "b.png").unlink()
        write_label_map(label_maps / "c.png", np.full((20, 31), 3))
        Image.new("RGB", (30, 20)).save(label_maps / "d.png")
        (label_maps / "e.png").write_bytes(b"")
        with pytest.raises(InputError) as raised:
            ADE20K(tmp_path, classes=SKY_AND_TREE)
        message = str(raised.value)
        assert "dataset ADE20K has 5 faults" in message
        for part in (
            f'{label_maps}/a.png: label map without an image "a"',
            f'{images}/b.jpg: image without a label map "b"',
            f"{label_maps}/c.png: the label map is 31x20, its image 30x20",
            f"{label_maps}/d.png: image mode RGB, expected 8-bit grey levels or a palette, not colours",
            f"{label_maps}/e.png: not an image that can be read",
        ):
            assert part in message

    def test_a_model_of_some_of_the_classes(self, tmp_path: Path) -> None:
        write_ade20k(tmp_path, "a", np.full((20, 30), 3))
        write_ade20k(tmp_path, "b", np.full((20, 30), 7))
        with pytest.raises(InputError, match=r"b.png: got values 7, expected"):
            ADE20K(tmp_path, classes=SKY_AND_TREE)
        dataset = ADE20K(tmp_path, others_ignored=True, classes=SKY_AND_TREE)
        assert [set(dataset[index]["label_map"].ravel()) for index in range(2)] == [{0}, {255}]

    def test_a_truncated_label_map(self, tmp_path: Path) -> None:
        write_ade20k(tmp_path, "a", np.random.default_rng(0).choice((3, 5), (20, 30)))
        path = tmp_path / "annotations" / "validation" / "a.png"
        dataset = ADE20K(tmp_path, classes=SKY_AND_TREE)
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(InputError, match=r"a.png: corrupt or truncated"):
            dataset[0]
        with pytest.raises(InputError, match=r"has 1 fault: .*a.png: corrupt or truncated"):
            ADE20K(tmp_path, classes=SKY_AND_TREE)

    def test_a_label_map_that_has_changed_since(self, tmp_path: Path) -> None:
        write_ade20k(tmp_path, "a", np.full((20, 30), 3))
        dataset = ADE20K(tmp_path, classes=SKY_AND_TREE)
        write_label_map(tmp_path / "annotations" / "validation" / "a.png", np.full((20, 31), 3))
        with pytest.raises(InputError, match=r"a.png: got uint8 \[20, 31\], expected a label map of 30x20 with 8 bits"):
            dataset[0]

    def test_a_missing_split_is_named_once(self, tmp_path: Path) -> None:
        write_ade20k(tmp_path, "a", np.full((20, 30), 3))
        with pytest.raises(InputError, match=r'has 2 faults: .*images/val: no such folder; nearest: "validation"'):
            ADE20K(tmp_path, "val", classes=SKY_AND_TREE)
        (tmp_path / "annotations" / "validation" / "a.png").unlink()
        with pytest.raises(InputError, match=r"has 1 fault: .*annotations/validation: no files \*.png"):
            ADE20K(tmp_path, classes=SKY_AND_TREE)


def write_cityscapes(root: Path, name: str, **label_maps: object) -> None:
    city = name.split("_", maxsplit=1)[0]
    write_image(root / "leftImg8bit" / "val" / city / f"{name}_leftImg8bit.png", (16, 32))
    for kind, values in label_maps.items():
        write_label_map(root / "gtFine" / "val" / city / f"{name}_gtFine_{kind}.png", values)


class TestCityscapes:
    ids = np.repeat(np.asarray([[7, 26, 8, 0]], np.uint8), 16, axis=0).repeat(8, axis=1)
    train_ids = np.repeat(np.asarray([[0, 13, 255, 255]], np.uint8), 16, axis=0).repeat(8, axis=1)
    expected = np.repeat([[0, 1, 255, 255]], 16, axis=0).repeat(8, axis=1)

    def test_label_ids_come_first_and_what_no_class_has_is_ignored(self, tmp_path: Path) -> None:
        write_cityscapes(tmp_path, "lindau_000001_000019", labelIds=self.ids, labelTrainIds=self.train_ids)
        write_cityscapes(tmp_path, "frankfurt_000000_000294", labelIds=self.ids * 0 + 26, labelTrainIds=self.train_ids)
        dataset = Cityscapes(tmp_path, classes=LABEL_IDS)
        assert [Path(dataset.image_item(i)["path"]).name.split("_")[0] for i in range(2)] == ["frankfurt", "lindau"]
        assert set(dataset[0]["label_map"].ravel()) == {1}
        np.testing.assert_array_equal(dataset[1]["label_map"], self.expected)

    @pytest.mark.parametrize("labels", [None, "labelTrainIds"])
    def test_train_ids_where_there_are_no_label_ids_or_when_asked_for(self, tmp_path: Path, labels: str | None) -> None:
        more = {} if labels is None else {"labelIds": self.ids}
        write_cityscapes(tmp_path, "ulm_000000_000001", labelTrainIds=self.train_ids, **more)
        dataset = Cityscapes(tmp_path, labels=labels, classes=TRAIN_IDS)
        np.testing.assert_array_equal(dataset[0]["label_map"], self.expected)

    def test_a_model_of_some_of_the_classes(self, tmp_path: Path) -> None:
        write_cityscapes(tmp_path, "ulm_000000_000001", labelTrainIds=self.train_ids)
        car = [ClassInfo("car", 13)]
        with pytest.raises(InputError, match=r"labelTrainIds.png: got values 0, expected"):
            Cityscapes(tmp_path, labels="labelTrainIds", classes=car)
        dataset = Cityscapes(tmp_path, labels="labelTrainIds", others_ignored=True, classes=car)
        np.testing.assert_array_equal(dataset[0]["label_map"], np.where(self.expected == 1, 0, 255))

    def test_ids_of_the_other_kind_are_refused(self, tmp_path: Path) -> None:
        write_cityscapes(tmp_path, "ulm_000000_000001", labelIds=self.ids, labelTrainIds=self.train_ids)
        with pytest.raises(InputError, match='class "road" has category_id 0, which is unlabeled in the labelIds'):
            Cityscapes(tmp_path, classes=TRAIN_IDS)
        with pytest.raises(InputError, match=r"labelTrainIds.png: got values 0, 13, expected"):
            Cityscapes(tmp_path, labels="labelTrainIds", classes=LABEL_IDS)
        with pytest.raises(InputError, match=r'class "void" has category_id 255, a value .* ignores \(255\)'):
            Cityscapes(tmp_path, labels="labelTrainIds", classes=[*TRAIN_IDS, ClassInfo("void", 255)])

    def test_maps_that_cannot_be_wrong_are_not_decoded_for_the_check(self, tmp_path: Path) -> None:
        write_cityscapes(tmp_path, "ulm_000000_000001", labelIds=self.ids)
        file = next(tmp_path.glob("gtFine/val/ulm/*.png"))
        file.write_bytes(file.read_bytes()[:-30])
        dataset = Cityscapes(tmp_path, classes=LABEL_IDS)
        with pytest.raises(InputError, match="corrupt or truncated"):
            dataset[0]

    def test_faults(self, tmp_path: Path) -> None:
        write_cityscapes(tmp_path, "ulm_000000_000001", labelIds=self.ids)
        write_cityscapes(tmp_path, "ulm_000000_000002")
        words = r'ulm_000000_000002_leftImg8bit.png: image without a label map "ulm/ulm_000000_000002"'
        with pytest.raises(InputError, match=words):
            Cityscapes(tmp_path, classes=LABEL_IDS)
        with pytest.raises(InputError, match='Cityscapes: unknown labels "labelIDs"; nearest: "labelIds"'):
            Cityscapes(tmp_path, labels="labelIDs", classes=LABEL_IDS)
        with pytest.raises(InputError, match=r'leftImg8bit/valid: no such folder; nearest: "val"'):
            Cityscapes(tmp_path, "valid", classes=LABEL_IDS)
