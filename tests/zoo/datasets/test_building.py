"""Building a data set from a config's section."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import ConfigDict

from tests.zoo.datasets.layouts import coco_content, write_coco, write_image
from zoo.datasets import CocoDetection, DigitsSegmentation, EvaluationDataset, ImageFolder, build_dataset
from zoo.errors import InputError
from zoo.registry import DATASETS
from zoo.tasks import build_task

TASK = build_task(
    {"type": "Detection", "classes": [{"name": "dog", "category_id": 18}, {"name": "c", "category_id": 17}]}
)
KINDS = {
    *("ADE20K", "Cityscapes", "CocoDetection", "CocoInstances", "CocoKeypoints", "DigitsDetection", "DigitsInstances"),
    *("DigitsSegmentation", "ImageFolder", "VOCDetection", "VOCSegmentation"),
}


def test_all_layouts_are_registered() -> None:
    assert {name for name, kind in DATASETS.module_dict.items() if issubclass(kind, EvaluationDataset)} >= KINDS


def test_labels_are_those_of_the_task(tmp_path: Path) -> None:
    arguments = write_coco(tmp_path, coco_content())
    section = ConfigDict(type="CocoDetection", **{key: str(path) for key, path in arguments.items()})
    dataset = build_dataset(section, TASK)
    assert isinstance(dataset, CocoDetection)
    assert dataset[0]["labels"].tolist() == [1, 0, 1]
    assert section["type"] == "CocoDetection"  # the config is left as it is


def test_paths_are_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_image(tmp_path / "photographs" / "a.png", (20, 30))
    monkeypatch.chdir(tmp_path)
    assert build_dataset({"type": "ImageFolder", "root": "photographs"}, TASK)[0]["path"] == "photographs/a.png"


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"type": "CocoDetecton"}, 'unknown dataset type "CocoDetecton"; nearest: "CocoDetection"'),
        ({"type": "DigitsTraining"}, 'unknown dataset type "DigitsTraining"; nearest: "Digits'),  # for training alone
        ({"type": "BaseDataset"}, 'unknown dataset type "BaseDataset"'),  # mmengine's, not ours
        ({}, 'unknown dataset type "None"'),
        ({"type": "DigitsDetection", "splt": "v"}, 'built from its config: unknown argument "splt"; nearest: "split"'),
        ({"type": "DigitsDetection", "split": 3}, 'argument "split": got 3, expected str'),
        ({"type": "DigitsDetection", "root": 3}, 'argument "root": got 3, expected str or Path or None'),
        ({"type": "DigitsDetection", "classes": []}, 'unknown argument "classes"'),
        ({"type": "VOCDetection"}, 'argument "root" is missing; argument "split" is missing'),
        ({"type": "DigitsDetection", "split": "gates"}, 'unknown split "gates" of digits; nearest: "gate"'),
    ],
)  # fmt: skip
def test_wrong_sections(section: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as raised:
        build_dataset(section, TASK)
    assert words in str(raised.value)


def test_workers_can_be_given_a_data_set(tmp_path: Path) -> None:
    arguments = write_coco(tmp_path, coco_content())
    for dataset in (CocoDetection(**arguments, classes=TASK.classes), DigitsSegmentation()):
        copy = pickle.loads(pickle.dumps(dataset))
        assert len(copy) == len(dataset)
        assert copy[0].keys() == dataset[0].keys()


@pytest.mark.slow
def test_no_extra_library_is_needed() -> None:
    blocked = "for name in ('sklearn', 'skimage', 'pycocotools'): sys.modules[name] = None"
    code = (
        f"import sys\n{blocked}\n"
        "from zoo.datasets import DigitsDetection, DigitsSegmentation, DigitsInstances\n"
        "print(len(DigitsDetection()[0]['boxes']), DigitsSegmentation()[0]['label_map'].max(),\n"
        "      len(DigitsInstances()[0]['masks']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [int(word) >= 2 for word in done.stdout.split()] == [True] * 3


def test_arguments_that_no_class_describes_are_the_data_sets_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Listed(ImageFolder):
        def __init__(self, root: str, sizes: list[int], anything=None, *, classes: Any) -> None:
            super().__init__(root, classes=classes)
            self.given = sizes, anything

    monkeypatch.setitem(DATASETS.module_dict, "Listed", Listed)
    write_image(tmp_path / "a.png", (20, 30))
    dataset = build_dataset({"type": "Listed", "root": str(tmp_path), "sizes": [3], "anything": 4}, TASK)
    assert isinstance(dataset, Listed)
    assert dataset.given == ([3], 4)
