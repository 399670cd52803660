"""PASCAL VOC: boxes from XML, label maps from palette PNGs."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.zoo.datasets.layouts import voc_object, write_image, write_label_map, write_list, write_voc
from zoo.datasets import VOCDetection, VOCSegmentation
from zoo.errors import InputError
from zoo.tasks import ClassInfo

CLASSES = [ClassInfo("background", None), ClassInfo("dog", 12), ClassInfo("cat", 8)]
PIXEL_CLASSES = [ClassInfo("background", 0), ClassInfo("cat", 8), ClassInfo("dog", 12)]


class TestDetection:
    def test_items(self, tmp_path: Path) -> None:
        objects = [voc_object("cat", (1, 1, 40, 30)), voc_object("dog", (5, 6, 5, 9), difficult=1)]
        dataset = VOCDetection(write_voc(tmp_path, {"2007_000027": objects, "000012": []}), "val", classes=CLASSES)
        assert len(dataset) == 2
        item = dataset[0]
        assert item["image"].shape == (30, 40, 3)
        assert (item["image_id"], item["path"]) == (0, str(tmp_path / "JPEGImages" / "2007_000027.jpg"))
        assert item["boxes"].tolist() == [[0, 0, 40, 30], [4, 5, 5, 9]]  # the whole image; one column of four pixels
        assert item["areas"].tolist() == [1200, 4]
        assert item["labels"].tolist() == [2, 1]
        assert item["difficult"].tolist() == [False, True]
        assert [str(item[key].dtype) for key in ("boxes", "areas", "labels", "difficult")] == [
            *("float32", "float32", "int64", "bool"),
        ]
        assert dataset[1]["boxes"].shape == (0, 4)
        assert dataset[1]["image_id"] == 1

    def test_changing_an_item_leaves_the_data_set_as_it_is(self, tmp_path: Path) -> None:
        dataset = VOCDetection(write_voc(tmp_path, {"a": [voc_object("cat", (1, 1, 9, 9))]}), "val", classes=CLASSES)
        dataset[0]["boxes"][:] = -1
        assert dataset[0]["boxes"].tolist() == [[0, 0, 9, 9]]

    @pytest.mark.parametrize(
        ("objects", "line", "words"),
        [
            ([voc_object("cow", (1, 1, 9, 9))], 5, 'unknown class "cow", none of the task\'s classes; nearest: "dog"'),
            ([voc_object("cat", (1, 1, 42, 9))], 7, "bndbox 1 1 42 9 reaches 2 px outside its image of 40x30"),
            ([voc_object("cat", (9, 1, 8, 9))], 7, "bndbox 9 1 8 9 has a negative width or height"),
            ([voc_object("cat", (1, 1, "many", 9))], 7, "bndbox: expected a number for each of xmin, ymin, xmax, ymax"),
            ([voc_object("cat", (1, 1, "nan", 9))], 7, "bndbox: expected a number for each of"),
            (["\n<object><name>cat</name></object>"], 4, 'object without "bndbox"'),
        ],
    )
    def test_faults_name_file_and_line(self, tmp_path: Path, objects: list[str], line: int, words: str) -> None:
        write_voc(tmp_path, {"a": [voc_object("dog", (2, 2, 9, 9))], "b": objects})
        with pytest.raises(InputError) as raised:
            VOCDetection(tmp_path, "val", classes=CLASSES)
        assert f"has 1 fault: {tmp_path}/Annotations/b.xml, line {line}: {words}" in str(raised.value)

    def test_a_box_that_starts_at_0_is_taken(self, tmp_path: Path) -> None:
        write_voc(tmp_path, {"a": [voc_object("cat", (0, 0, 41, 31))]})
        assert VOCDetection(tmp_path, "val", classes=CLASSES)[0]["boxes"].tolist() == [[-1, -1, 41, 31]]

    def test_all_faults_are_shown_together(self, tmp_path: Path) -> None:
        write_voc(tmp_path, {name: [] for name in "abcde"})
        write_image(tmp_path / "JPEGImages" / "a.jpg", (30, 41))
        (tmp_path / "Annotations" / "b.xml").write_text("<annotation>\n<size>\n</annotation>", encoding="utf-8")
        (tmp_path / "Annotations" / "c.xml").unlink()
        (tmp_path / "JPEGImages" / "d.jpg").unlink()
        (tmp_path / "Annotations" / "e.xml").write_text("<annotation><size/></annotation>", encoding="utf-8")
        with (tmp_path / "ImageSets" / "Main" / "val.txt").open("a", encoding="utf-8") as file:
            file.write("\na 1\n")
        with pytest.raises(InputError) as raised:
            VOCDetection(tmp_path, "val", classes=CLASSES)
        message, images = str(raised.value), tmp_path / "JPEGImages"
        assert "has 6 faults" in message
        for part in (
            "a.xml, line 3: size 40x30, the image file is 41x30",
            "b.xml, line 3: not XML at column 3: mismatched tag",
            f"Main/val.txt, line 3: annotation {tmp_path}/Annotations/c.xml: no such file",
            f"Main/val.txt, line 4: image {images}/d.jpg: no such file",
            "e.xml, line 1: size: expected width and height in pixels",
            'val.txt, line 7: image "a" is listed twice, first in line 1',
        ):
            assert part in message
        assert "\n" not in message

    def test_an_annotation_without_a_size_takes_its_images(self, tmp_path: Path) -> None:
        write_voc(tmp_path, {"a": []})
        text = "<annotation>{}</annotation>"
        file = tmp_path / "Annotations" / "a.xml"
        file.write_text(text.format(voc_object("cat", (1, 1, 9, 9))), encoding="utf-8")
        assert VOCDetection(tmp_path, "val", classes=CLASSES)[0]["labels"].tolist() == [2]
        file.write_text(text.format(voc_object("cat", (1, 1, 45, 9))), encoding="utf-8")
        with pytest.raises(InputError, match="bndbox 1 1 45 9 reaches 5 px outside its image of 40x30"):
            VOCDetection(tmp_path, "val", classes=CLASSES)

    def test_an_unknown_split_names_the_nearest(self, tmp_path: Path) -> None:
        write_voc(tmp_path, {"a": []})
        with pytest.raises(InputError, match=r'Main/vall.txt: no such file; nearest: "val.txt"'):
            VOCDetection(tmp_path, "vall", classes=CLASSES)
        with pytest.raises(InputError, match=r"has 1 fault: .*/VOC2012: no such folder; nearest: "):
            VOCDetection(tmp_path / "VOC2012", "val", classes=CLASSES)

    def test_a_root_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "VOC2012").write_text("", encoding="utf-8")
        with pytest.raises(InputError, match=r"has 1 fault: .*/VOC2012: this is a file, expected a folder$"):
            VOCDetection(tmp_path / "VOC2012", "val", classes=CLASSES)

    def test_an_empty_split(self, tmp_path: Path) -> None:
        write_list(tmp_path / "ImageSets" / "Main" / "val.txt", [""])
        with pytest.raises(InputError, match=r"val.txt: no images, expected the name of one in each line"):
            VOCDetection(tmp_path, "val", classes=CLASSES)

    def test_two_classes_of_one_name(self, tmp_path: Path) -> None:
        write_voc(tmp_path, {"a": []})
        with pytest.raises(InputError, match="classes 0 and 1 of the task: both have name 'cat'"):
            VOCDetection(tmp_path, "val", classes=[ClassInfo("cat", 1), ClassInfo("cat", 2)])

    @given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 30), st.integers(1, 30))
    def test_a_box_has_as_many_pixels_as_voc_counts(
        self, tmp_path_factory: pytest.TempPathFactory, a: int, b: int, c: int, d: int
    ) -> None:
        (x1, x2), (y1, y2) = sorted((a, b)), sorted((c, d))
        root = write_voc(tmp_path_factory.mktemp("voc"), {"a": [voc_object("cat", (x1, y1, x2, y2))]})
        item = VOCDetection(root, "val", classes=CLASSES)[0]
        covered = np.zeros((31, 41), np.bool_)
        covered[y1 : y2 + 1, x1 : x2 + 1] = True  # VOC's pixels, numbered from 1, both ends included
        left, top, right, bottom = item["boxes"][0].astype(int)
        assert covered[1:, 1:][top:bottom, left:right].all()
        assert item["areas"][0] == covered.sum()


class TestSegmentation:
    @staticmethod
    def write(root: Path) -> Path:
        values = np.zeros((30, 40), np.uint8)
        values[:10], values[10:20], values[20:, 30:] = 12, 8, 255
        write_image(root / "JPEGImages" / "2007_000001.jpg", (30, 40))
        write_label_map(root / "SegmentationClass" / "2007_000001.png", values, palette=True)
        write_list(root / "ImageSets" / "Segmentation" / "val.txt", ["2007_000001"])
        return root

    def test_palette_indices_become_the_models_labels(self, tmp_path: Path) -> None:
        item = VOCSegmentation(self.write(tmp_path), "val", classes=PIXEL_CLASSES)[0]
        expected = np.zeros((30, 40), np.uint8)
        expected[:10], expected[10:20], expected[20:, 30:] = 2, 1, 255
        assert item["label_map"].dtype == np.uint8
        np.testing.assert_array_equal(item["label_map"], expected)
        assert item["image"].shape == (30, 40, 3)

    def test_255_alone_is_ignored(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        words = r"has 1 fault: .*2007_000001.png: got values 8, expected the category_id of a class or an ignored value"
        with pytest.raises(InputError, match=words):
            VOCSegmentation(tmp_path, "val", classes=[ClassInfo("background", 0), ClassInfo("dog", 12)])
        with pytest.raises(InputError, match=r'class "void" has category_id 255, a value .* ignores \(255\), expected'):
            VOCSegmentation(tmp_path, "val", classes=[*PIXEL_CLASSES, ClassInfo("void", 255)])

    def test_missing_files_name_the_line_of_the_split(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        write_list(tmp_path / "ImageSets" / "Segmentation" / "val.txt", ["2007_000001", "2007_000002"])
        with pytest.raises(InputError) as raised:
            VOCSegmentation(tmp_path, "val", classes=PIXEL_CLASSES)
        message = str(raised.value)
        assert f"val.txt, line 2: image {tmp_path}/JPEGImages/2007_000002.jpg: no such file" in message
        assert f"val.txt, line 2: image {tmp_path}/SegmentationClass/2007_000002.png: no such file" in message
