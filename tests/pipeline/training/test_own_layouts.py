"""`zooport init --data` for VOC folders, label maps and class folders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from pipeline.training.own_config import DataRequest, OwnConfig, write_config
from pipeline.training.own_data import own_dataset
from tests.zoo_configs import ROOT
from zoo.build import build_model
from zoo.config import load_config
from zoo.datasets.building import config_dataset
from zoo.errors import InputError
from zooport.verbs import run_verb

NAMES = [f"{number:03d}" for number in range(10)]
KINDS = ("cat", "dog")


def image(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), np.random.default_rng(seed).integers(0, 256, (40, 60, 3), np.uint8))


def voc(root: Path, lists: dict[str, list[str]] | None = None) -> Path:
    """Boxes of cats and dogs, and label maps of the values 0, 1 and 255."""
    for folder in ("Annotations", "SegmentationClass", "ImageSets/Main", "ImageSets/Segmentation"):
        (root / folder).mkdir(parents=True)
    for number, name in enumerate(NAMES):
        image(root / "JPEGImages" / f"{name}.jpg", number)
        box = "<bndbox><xmin>5</xmin><ymin>6</ymin><xmax>30</xmax><ymax>31</ymax></bndbox>"
        item = f"<object><name>{KINDS[number % 2]}</name><difficult>0</difficult>{box}</object>"
        (root / "Annotations" / f"{name}.xml").write_text(f"<annotation>{item}</annotation>")
        label_map(root / "SegmentationClass" / f"{name}.png")
    for split, names in (lists or {"trainval": NAMES}).items():
        for folder in ("Main", "Segmentation"):
            (root / "ImageSets" / folder / f"{split}.txt").write_text("\n".join(names) + "\n")
    return root


def label_map(path: Path, values: tuple[int, ...] = (0, 1, 255)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    values_of = np.zeros((40, 60), np.uint8)
    for place, value in enumerate(values):
        values_of[:, place * 20 : (place + 1) * 20] = value
    assert cv2.imwrite(str(path), values_of)


def maps(root: Path) -> Path:
    for number, name in enumerate(NAMES):
        image(root / "images" / "a" / f"{name}.jpg", number)
        label_map(root / "maps" / "a" / f"{name}.png", (0, 7, 255))
    return root / "maps"


def folders(root: Path) -> Path:
    for number, name in enumerate(NAMES):
        image(root / ("daisy", "golden rose")[number % 2] / f"{name}.png", number)
    return root


def init(data: Path, base: str, **options: Any) -> OwnConfig:
    config = load_config(next((ROOT / "configs").rglob(f"{base}.py")))
    return write_config(DataRequest(config, data, data.parent / "mine.py", **options))


def names(written: OwnConfig) -> list[tuple[str, int | None]]:
    """After a look at both parts: they share no image, and have as many as was said."""
    config = load_config(written.path)
    build_model(config, weights=False)
    learned, judged = own_dataset(config), config_dataset(config, "dataset")
    assert (len(learned), len(judged)) == written.images
    assert not {entry.path for entry in learned.entries} & {entry.path for entry in judged.entries}
    assert set(config.task.truth) <= set(judged.truth(0))
    return [(info.name, info.category_id) for info in config.task.classes]


def test_boxes_of_a_voc_folder(tmp_path: Path) -> None:
    written = init(voc(tmp_path / "VOC2007"), "faster-rcnn_r18-fpn_digits")
    assert names(written) == [("background", None), ("cat", 1), ("dog", 2)]
    assert written.images == (8, 2)
    assert written.annotations == (tmp_path / "mine_train.txt", tmp_path / "mine_val.txt")
    assert "10 objects in 10 images" in written.notes


def test_a_voc_folder_has_lists_of_its_own(tmp_path: Path) -> None:
    root = voc(tmp_path / "VOC2007", {"train": NAMES[:7], "val": NAMES[7:], "trainval": NAMES})
    written = init(root, "yolov5n_digits")
    assert (written.images, names(written)) == ((7, 3), [("cat", 1), ("dog", 2)])
    assert not list(tmp_path.glob("mine_*"))
    assert [load_config(written.path).content[key]["split"] for key in ("train_dataset", "dataset")] == ["train", "val"]


def test_another_voc_folder_is_judged_on(tmp_path: Path) -> None:
    root, other = (voc(tmp_path / name) for name in ("VOC2007", "VOC2012"))
    written = init(root, "yolov5n_digits", val=other)
    assert (written.images, names(written)) == ((10, 10), [("cat", 1), ("dog", 2)])


def test_label_maps_of_a_voc_folder(tmp_path: Path) -> None:
    written = init(voc(tmp_path / "VOC2007"), "fcn_r18_digits", classes=("background", "cat"))
    assert names(written) == [("background", 0), ("cat", 1)]
    config = load_config(written.path)
    assert config.model["decode_head"]["num_classes"] == 2
    assert config.evaluator == {"type": "MeanIoU", "num_classes": 2}


def test_label_maps(tmp_path: Path) -> None:
    written = init(maps(tmp_path), "fcn_r18_digits", images=tmp_path / "images")
    assert names(written) == [("value_0", 0), ("value_7", 7)]
    assert "10 images" in written.notes
    assert written.annotations[1].read_text().splitlines()[0].startswith("a/0")


def test_masks_of_0_and_255_have_one_class(tmp_path: Path) -> None:
    """255 is void, so what was meant as the foreground would be left out, and everything be right."""
    labels, pixels = tmp_path / "masks" / "a", np.zeros((64, 64), np.uint8)
    pixels[:32] = 255
    for number in range(10):
        image(tmp_path / "images" / f"{number}.png", number)
        labels.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(labels / f"{number}.png"), pixels)
    with pytest.raises(InputError, match="values 0 and 255, and 255 is left out as void, so there is one class; write"):
        init(labels, "fcn_r18_digits", images=tmp_path / "images")


def test_class_folders(tmp_path: Path) -> None:
    written = init(folders(tmp_path / "flowers"), "resnet18_digits")
    assert names(written) == [("daisy", 0), ("golden rose", 1)]
    assert {line.split("/")[0] for line in written.annotations[1].read_text().splitlines()} == {"daisy", "golden rose"}


@pytest.mark.parametrize(
    ("make", "base", "evaluator"),
    [
        (folders, "resnet18_digits", {"type": "Accuracy"}),
        (voc, "fcn_r18_digits", {"type": "MeanIoU", "num_classes": 2}),
    ],
)
def test_a_base_without_an_evaluator_is_judged_by_its_tasks(
    make: Callable[[Path], Path], base: str, evaluator: dict[str, Any], tmp_path: Path
) -> None:
    """As `zooport init` writes configs for models of other libraries."""
    (shipped,) = (ROOT / "configs").rglob(f"{base}.py")
    config, data = tmp_path / "base.py", make(tmp_path / "data")
    config.write_text(f'_base_ = ["{shipped}"]\nevaluator = None\n')
    written = write_config(DataRequest(load_config(config), data, tmp_path / "mine.py"))
    assert load_config(written.path).evaluator == evaluator


def test_class_folders_to_be_judged_on(tmp_path: Path) -> None:
    data, val = folders(tmp_path / "flowers"), folders(tmp_path / "held out")
    assert init(data, "resnet18_digits", val=val).images == (10, 10)
    image(val / "tulip" / "1.png", 1)
    with pytest.raises(InputError, match="held out: .*flowers has no class tulip, which is to be judged"):
        init(data, "resnet18_digits", val=val, force=True)


def test_they_move_with_their_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    init(folders(tmp_path / "flowers"), "resnet18_digits")
    (tmp_path / "elsewhere").mkdir()
    for name in ("mine.py", "mine_train.txt", "mine_val.txt", "flowers"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    assert len(own_dataset(load_config("elsewhere/mine.py"))) == 8


@pytest.mark.parametrize(
    ("make", "base", "options", "message"),
    [
        (
            voc,
            "resnet18_digits",
            {},
            "image-classification does not learn from VOC's boxes or label maps; give a base for",
        ),
        (
            folders,
            "fcn_r18_digits",
            {},
            "semantic-segmentation does not learn from folders of classes .of label maps give --images DIR",
        ),
        (
            voc,
            "yolov5n_digits",
            {"images": Path()},
            "--images with .*: a VOC folder has its images in it; leave the flag",
        ),
        (
            voc,
            "yolov5n_digits",
            {"classes": ("a",)},
            "--classes with .*: its annotations name the classes; leave the flag",
        ),
        (folders, "resnet18_digits", {"classes": ("a",)}, "--classes with .* names its classes; leave the flag out"),
        (
            voc,
            "fcn_r18_digits",
            {"classes": ("a",)},
            "--classes: got 1 names, but the label maps of .* have the values 0, 1; give 2 names, in this order",
        ),
        (
            lambda root: maps(root) / "a",
            "fcn_r18_digits",
            {},
            "none of the known layouts; give a folder of label maps .PNG. with --images DIR, a folder with",
        ),
    ],
)
def test_refusals(
    make: Callable[[Path], Path], base: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        init(make(tmp_path / "data"), base, **options)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("mine*"))


def test_a_line_of_a_list_that_is_no_image(tmp_path: Path) -> None:
    written = init(folders(tmp_path / "flowers"), "resnet18_digits")
    with written.annotations[0].open("a") as file:
        file.write("daisy/none.png\n")
    with pytest.raises(InputError, match=r'mine_train.txt, line 9: no image "daisy/none.png"; nearest: "daisy/'):
        own_dataset(load_config(written.path))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    folders(tmp_path / "flowers")
    assert run_verb(["init", "--data", "flowers", "--base", "resnet18_digits"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "config: flowers.py (daisy, golden rose), 8 images to learn, 2 to validate",
        "next: zooport train flowers.py",
    ]
