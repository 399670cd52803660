"""COCO annotations: the truth of items, and each fault with its line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pycocotools import mask as coco_mask

from tests.zoo.datasets.layouts import ANIMALS, annotation, coco_content, image_record, write_coco, write_image
from zoo.datasets import CocoDetection, CocoInstances, CocoKeypoints
from zoo.errors import InputError
from zoo.tasks import ClassInfo

SKELETON = {"id": 17, "name": "cat", "keypoints": ["nose", "tail"]}


def line_of(file: Path, text: str, which: int = 0) -> int:
    """The line, 1 and up, of the nth place where a text stands."""
    return [number for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if text in line][
        which
    ]


def test_items_have_the_models_labels_and_edges(tmp_path: Path) -> None:
    dataset = CocoDetection(**write_coco(tmp_path, coco_content()), classes=ANIMALS)
    assert len(dataset) == 2
    item = dataset[0]
    assert (item["image_id"], item["path"]) == (42, str(tmp_path / "images" / "42.jpg"))
    np.testing.assert_array_equal(item["image"], cv2.imread(item["path"]))
    assert item["boxes"].dtype == item["areas"].dtype == np.float32
    assert item["labels"].dtype == item["iscrowd"].dtype == np.int64
    assert item["boxes"].tolist() == [[2, 3, 12, 23], [0.5, 0.25, 4.5, 8.25], [20, 5, 40, 30]]
    assert item["labels"].tolist() == [1, 2, 1]
    assert item["areas"].tolist() == [200, 32, 90]  # without "area": the box's
    assert item["iscrowd"].tolist() == [0, 0, 1]


def test_an_image_without_objects(tmp_path: Path) -> None:
    item = CocoInstances(**write_coco(tmp_path, coco_content()), classes=ANIMALS)[1]
    assert item["image"].shape == (25, 50, 3)
    assert (item["image_id"], item["boxes"].shape, item["masks"]) == (7, (0, 4), [])
    assert item["labels"].shape == item["areas"].shape == item["iscrowd"].shape == (0,)


def test_the_tag_of_a_photograph_that_was_labelled_upright_is_named(tmp_path: Path) -> None:
    arguments = write_coco(tmp_path, coco_content())
    tag = Image.Exif()
    tag[0x0112] = 6
    Image.new("RGB", (30, 40)).save(tmp_path / "images" / "42.jpg", exif=tag)
    message = "the file is 30x40, expected 40x30; its orientation tag rotates it, but images with ground truth are read"
    with pytest.raises(InputError, match=message):
        CocoDetection(**arguments, classes=ANIMALS)


def test_indices_past_the_end_and_from_it(tmp_path: Path) -> None:
    dataset = CocoDetection(**write_coco(tmp_path, coco_content()), classes=ANIMALS)
    assert dataset[-1]["image_id"] == 7
    assert dataset[np.int64(1)]["image_id"] == 7
    with pytest.raises(IndexError):
        dataset[2]
    assert [item["image_id"] for item in dataset] == [42, 7]


# pycocotools 2.0.11 converts arrays in a way that numpy 2 deprecates.
@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning")
def test_masks_of_all_three_kinds(tmp_path: Path) -> None:
    mask = np.zeros((30, 40), np.uint8)
    mask[5:11, 30:33] = 1
    packed = coco_mask.encode(np.asfortranarray(mask))
    content = coco_content()
    written = {"size": [30, 40], "counts": packed["counts"].decode()}
    content["annotations"].append(annotation(11, 42, 18, [30, 5, 3, 6], segmentation=written))
    masks = CocoInstances(**write_coco(tmp_path, content), classes=ANIMALS)[0]["masks"]
    assert [m["size"] for m in masks] == [[30, 40]] * 4
    assert all(isinstance(m["counts"], bytes) for m in masks)
    square, triangle, crowd, last = (coco_mask.decode(m) for m in masks)
    assert square.sum() == 200
    assert square[3:23, 2:12].all()
    assert 8 <= triangle.sum() <= 20
    expected = np.zeros(30 * 40, np.uint8)
    expected[600:690] = 1
    np.testing.assert_array_equal(crowd, expected.reshape(40, 30).T)  # run lengths go down the columns
    np.testing.assert_array_equal(last, mask)


def test_keypoints(tmp_path: Path) -> None:
    content = coco_content()
    content["categories"] = [SKELETON]
    content["annotations"] = [
        annotation(1, 42, 17, [0, 0, 9, 9], keypoints=[1, 2, 2, 0, 0, 0]),
        annotation(2, 42, 17, [0, 0, 9, 9], keypoints=[3.5, 4, 1, 5, 6, 2]),
        annotation(3, 42, 17, [0, 0, 9, 9], iscrowd=1),
        annotation(4, 42, 17, [0, 0, 9, 9], iscrowd=1, keypoints=[]),
    ]
    dataset = CocoKeypoints(**write_coco(tmp_path, content), classes=ANIMALS)
    found = dataset[0]["keypoints"]
    assert found.dtype == np.float32
    assert found.tolist() == [[[1, 2, 2], [0, 0, 0]], [[3.5, 4, 1], [5, 6, 2]], *[[[0, 0, 0], [0, 0, 0]]] * 2]
    assert dataset[1]["keypoints"].shape == (0, 2, 3)


def test_an_orientation_tag_does_not_turn_the_image_away_from_its_boxes(tmp_path: Path) -> None:
    from PIL import Image

    content = coco_content()
    arguments = write_coco(tmp_path, content)
    path = arguments["images"] / "42.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by a quarter
    with Image.open(path) as image:
        image.save(path, exif=exif)
    assert CocoDetection(**arguments, classes=ANIMALS)[0]["image"].shape == (30, 40, 3)


def change(*keys: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def apply(content: dict[str, Any]) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = to

    return apply


@pytest.mark.parametrize(
    ("edit", "text", "which", "words"),
    [
        (change("annotations", 1, "bbox", to=[35, 3, 7, 8]), '"bbox"', 1,
         "annotation 3: bbox [35, 3, 7, 8] reaches 2 px outside its image of 40x30"),
        (change("annotations", 1, "bbox", to=[3, -1.5, 7, 8]), '"bbox"', 1,
         "annotation 3: bbox [3, -1.5, 7, 8] reaches 1.5 px outside its image of 40x30"),
        (change("annotations", 2, "bbox", to=[3, 3, -7, 8]), '"bbox"', 2,
         "annotation 9: bbox [3, 3, -7, 8] has a negative width or height"),
        (change("annotations", 0, "bbox", to=[3, 3, 7]), '"bbox"', 0,
         "annotation 5: bbox [3, 3, 7], expected four numbers x, y, width, height"),
        (change("annotations", 0, "bbox", to=[3, 3, 7, float("nan")]), '"bbox"', 0, "expected four numbers"),
        (change("annotations", 0, "bbox", to=[3, 3, 7, True]), '"bbox"', 0, "expected four numbers"),
        (change("annotations", 0, "area", to=-1), '"area"', 0, "annotation 5: area -1, expected a number, 0 or more"),
        (change("annotations", 0, "area", to=1e300), '"area"', 0, "area 1e+300, expected a number, 0 or more"),
        (change("annotations", 0, "id", to=10**400), "1000", 0, "an integer of 401 digits, expected 18 at most"),
        (change("annotations", 2, "bbox", to=[3, -(10**18), 7, 8]), "-1000", 0, "an integer of 19 digits, expec"),
        (change("images", 0, "width", to=10**17), "{", 2, f"the file is 40x30, expected {10**17}x30"),
        (change("annotations", 0, "iscrowd", to=2), '"iscrowd"', 0, "annotation 5: iscrowd 2, expected 0 or 1"),
        (change("annotations", 2, "category_id", to=99), '"category_id"', 2,
         "annotation 9: unknown category_id 99, expected one of the file's"),
        (change("annotations", 2, "category_id", to=19), '"category_id"', 2,
         "unknown category 19 ('horse') in 1 annotation(s) from here on; give a class of the config's task this cat"),
        (change("annotations", 0, "image_id", to=8), '"image_id"', 0,
         "annotation 5: unknown image_id 8, expected one of the file's"),
        (change("annotations", 1, "id", to=5), '"id"', 3, "annotation id 5 is used twice"),
        (change("images", 1, "id", to=42), '"id"', 1, "image id 42 is used twice"),
        (change("categories", 2, "id", to=17), '"id"', -1, "category id 17 is used twice"),
        (change("images", 0, "width", to=41), "{", 2, "42.jpg: the file is 40x30, expected 41x30"),
        (change("images", 0, "file_name", to="cat.jpg"), "{", 2, "cat.jpg: no such file"),
        (change("images", 0, "height", to="30"), '"height"', 0,
         """image 42: "height": got '30', expected an integer"""),
        (change("images", 1, to=4242), "4242", 0, "images[1]: got 4242, expected an object"),
        (change("categories", to={}), '"categories"', 0, 'no list "categories"; a COCO annotation file has "images", '),
    ],
)  # fmt: skip
def test_each_fault_names_its_line(
    tmp_path: Path, edit: Callable[[Any], None], text: str, which: int, words: str
) -> None:
    write_coco(tmp_path, coco_content())
    content = coco_content()
    edit(content)
    file = tmp_path / "instances.json"
    file.write_text(json.dumps(content, indent=2), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        CocoDetection(tmp_path / "images", file, classes=ANIMALS)
    message = str(raised.value)
    assert words in message
    assert f"{file}, line {line_of(file, text, which)}: " in message
    assert "\n" not in message


def test_boxes_may_reach_one_pixel_out(tmp_path: Path) -> None:
    content = coco_content()
    content["annotations"][0]["bbox"] = [-1, -1, 42, 32]
    CocoDetection(**write_coco(tmp_path, content), classes=ANIMALS)


@pytest.mark.parametrize(
    ("segmentation", "words"),
    [
        (None, "segmentation None, expected polygons or run lengths"),
        ([], "segmentation: expected polygons of three corners x, y or more"),
        ([[1, 2, 3, 4]], "segmentation: expected polygons of three corners"),
        ([[1, 2, 3, 4, 5, 6, 7]], "segmentation: expected polygons of three corners"),
        ([[1, 2, 3, 4, 5, "6"]], "segmentation: expected polygons of three corners"),
        ({"counts": 5, "size": [30, 40]}, "expected polygons or run lengths"),
        ({"counts": "abc", "size": [40, 30]}, "segmentation has size [40, 30], expected its image's [30, 40] (h"),
        ({"counts": [600, 90], "size": [30, 40]}, "the run lengths add up to 690, expected 1200 pixels"),
        ({"counts": [-1, 1201], "size": [30, 40]}, "expected run lengths that are integers, 0 or more"),
        ({"counts": "Y1", "size": [30, 40]}, "the run lengths add up to 41, expected 1200 pixels"),
        ({"counts": "Ya!", "size": [30, 40]}, "counts 'Ya!' are not run lengths as COCO compresses them"),
        ([[0, 0, 1e9, 0, 5, 5]], "a polygon reaches far outside its image of 40x30"),
        ([[0, 0, 5, 0, 5, -1e9]], "a polygon reaches far outside its image of 40x30"),
    ],
)
def test_faults_of_masks(tmp_path: Path, segmentation: Any, words: str) -> None:
    content = coco_content()
    content["annotations"][1]["segmentation"] = segmentation
    arguments = write_coco(tmp_path, content, indent=1)
    CocoDetection(**arguments, classes=ANIMALS)  # which has no masks
    with pytest.raises(InputError) as raised:
        CocoInstances(**arguments, classes=ANIMALS)
    line = line_of(arguments["annotations"], '"segmentation"', 1)
    assert f"line {line}: annotation 3: " in str(raised.value)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([1, 2, 2], "1 keypoints, expected 2 as in the rest of the file"),
        ([1, 2, 2, 1, 2, 3], "keypoint with visibility 3, expected 0, 1 or 2"),
        ([1, 2, 2, 1], "keypoints: expected numbers x, y, visibility of each point"),
        (None, "keypoints: expected numbers x, y, visibility of each point"),
    ],
)
def test_faults_of_keypoints(tmp_path: Path, points: Any, words: str) -> None:
    content = coco_content()
    content["categories"] = [SKELETON]
    content["annotations"] = [annotation(1, 42, 17, [0, 0, 9, 9], keypoints=points)]
    with pytest.raises(InputError, match=f"annotation 1: {words}"):
        CocoKeypoints(**write_coco(tmp_path, content), classes=ANIMALS)


def test_faults_are_collected_and_the_first_ten_shown(tmp_path: Path) -> None:
    content = coco_content()
    content["annotations"] = [annotation(i, 42, 17, [0, 0, 9, -i]) for i in range(1, 13)]
    content["images"][1]["file_name"] = "gone.jpg"
    arguments = write_coco(tmp_path, content)
    (arguments["images"] / "gone.jpg").unlink()
    with pytest.raises(InputError) as raised:
        CocoDetection(**arguments, classes=ANIMALS)
    message = str(raised.value)
    assert message.startswith("dataset CocoDetection has 13 faults: ")
    assert message.endswith("; and 3 more")
    assert "gone.jpg: no such file" in message
    assert "annotation 9: " in message
    assert "annotation 10: " not in message
    assert "instances.json, line 1: annotation 1: bbox [0, 0, 9, -1]" in message  # a file of one line


def test_a_category_that_the_task_lacks_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has 1 fault: .*category 17 \('cat'\) in 2 annotation\(s\) from here on"):
        CocoDetection(**write_coco(tmp_path, coco_content()), classes=[ClassInfo("dog", 18)])


def test_two_classes_of_one_category(tmp_path: Path) -> None:
    classes = [ClassInfo("dog", 18), ClassInfo("cat", 17), ClassInfo("puppy", 18)]
    with pytest.raises(InputError, match="classes 0 and 2 of the task: both have category_id 18, expected each"):
        CocoDetection(**write_coco(tmp_path, coco_content()), classes=classes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"images": [],\n "annotations": [}', r"instances.json, line 2: not JSON at column 18: Expecting value"),
        ("[1]", r"instances.json, line 1: got a JSON list, expected an object with \"images\", \"categories\""),
        ('{"images": [], "annotations": [], "categories": []}', "line 1: no images, expected one or more"),
        (b"\xff\xfe{}", "instances.json: cannot be read "),
        ('{"n": "1111111111111111111",\n"x": ' + "1" * 5000 + "}", "json, line 2: an integer of 5000 digits, exp"),
        ("[" * 200_000, "instances.json: lists nested too deeply to be read; expected COCO annotations"),
    ],
)
def test_files_that_are_not_coco(tmp_path: Path, text: str | bytes, words: str) -> None:
    arguments = write_coco(tmp_path, coco_content())
    arguments["annotations"].write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(InputError, match=words):
        CocoDetection(**arguments, classes=ANIMALS)


def test_missing_files_and_folders_name_the_nearest(tmp_path: Path) -> None:
    arguments = write_coco(tmp_path, coco_content())
    with pytest.raises(InputError) as raised:
        CocoDetection(tmp_path / "image", tmp_path / "instance.json", classes=ANIMALS)
    assert f'{tmp_path}/instance.json: no such file; nearest: "instances.json"' in str(raised.value)
    assert f'{tmp_path}/image: no such folder; nearest: "images"' in str(raised.value)
    with pytest.raises(InputError, match="has 1 fault: .*imags: no such folder"):  # and not one for each image in it
        CocoDetection(tmp_path / "imags" / "val", arguments["annotations"], classes=ANIMALS)


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    arguments = write_coco(tmp_path, coco_content())
    file = arguments["annotations"]
    with pytest.raises(InputError) as raised:
        CocoDetection(file, arguments["images"], classes=ANIMALS)
    assert f"{file}: this is a file, expected a folder" in str(raised.value)
    assert f"{arguments['images']}: this is a folder, expected a file" in str(raised.value)
    with pytest.raises(InputError) as raised:
        CocoDetection(file / "images", file / "train" / "instances.json", classes=ANIMALS)
    assert str(raised.value).count(f"{file}: this is a file, expected a folder") == 2


def test_images_that_are_none(tmp_path: Path) -> None:
    arguments = write_coco(tmp_path, coco_content())
    whole = (arguments["images"] / "42.jpg").read_bytes()
    (arguments["images"] / "42.jpg").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"42.jpg: not an image that can be read"):
        CocoDetection(**arguments, classes=ANIMALS)
    (arguments["images"] / "42.jpg").write_bytes(whole[: len(whole) * 3 // 4])
    dataset = CocoDetection(**arguments, classes=ANIMALS)  # its header is good
    with pytest.raises(InputError, match=r"42.jpg: corrupt or truncated; give a whole image file"):
        dataset[0]
    write_image(arguments["images"] / "42.jpg", (10, 11))
    with pytest.raises(InputError, match=r"42.jpg: got 11x10, expected 40x30; the file has changed since the check"):
        dataset[0]
    shutil.rmtree(arguments["images"])
    with pytest.raises(InputError, match=r"42.jpg: no such file; it was removed after"):
        dataset[0]


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 4, st.sampled_from((17, 18))), max_size=6))
def test_boxes_survive_the_way_to_the_item(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[float, ...]]
) -> None:
    root = tmp_path_factory.mktemp("coco")
    corners = [sorted((a * 40, b * 40)) + sorted((c * 30, d * 30)) for a, b, c, d, _ in drawn]
    annotations = [
        annotation(i, 1, int(drawn[i][4]), [x1, y1, x2 - x1, y2 - y1]) for i, (x1, x2, y1, y2) in enumerate(corners)
    ]
    content = coco_content() | {"images": [image_record(1, (30, 40))], "annotations": annotations}
    item = CocoDetection(**write_coco(root, content), classes=ANIMALS)[0]
    expected = np.asarray([(x1, y1, x2, y2) for x1, x2, y1, y2 in corners], np.float32).reshape(-1, 4)
    np.testing.assert_allclose(item["boxes"], expected, atol=1e-5)
    assert [ANIMALS[label].category_id for label in item["labels"]] == [category for *_, category in drawn]
