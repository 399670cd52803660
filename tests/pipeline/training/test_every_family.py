"""Every family that the shipped recipes train learns from data of one's own, images without objects included."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.training import Recipe
from pipeline.training.own_config import DataRequest, write_config
from pipeline.training.own_data import own_dataset
from pipeline.training.trainable import Trainable
from pipeline.training.training_data import training_data
from tests.zoo.datasets.layouts import voc_object, write_image, write_label_map, write_list, write_voc
from tests.zoo_configs import ROOT, buildable
from zoo.build import build_model
from zoo.config import ModelConfig, load_config
from zoo.datasets import config_dataset
from zoo.datasets.shapes import write_shapes
from zoo.errors import InputError

DETECTORS = sorted(path.stem for path in (ROOT / "configs/detection").glob("*_digits.py"))
SEGMENTORS = sorted(path.stem for path in (ROOT / "configs/segmentation").glob("*_digits.py"))
QUICK = "yolov5n_digits"
SIDES = (96, 128)


def of_family(name: str) -> ModelConfig:
    return load_config(name)


def check_losses(config: ModelConfig, batch_size: int = 4) -> None:
    """Two batches of small crops give finite losses, and gradients where they have objects or label maps."""
    dataset = own_dataset(config)
    recipe = replace(Recipe.from_config(config), iterations=2, batch_size=batch_size, crop=SIDES, scale=(0.4, 0.5))
    torch.manual_seed(0)
    trainable, has_objects = Trainable(build_model(config, weights=False)).train(), False
    for batch in training_data(config, recipe, trainable.model, dataset):
        losses = trainable(**batch)
        total = torch.stack(list(losses.values())).sum()
        assert total.isfinite(), losses
        total.backward()  # type: ignore[no-untyped-call]
        has_objects |= "label_maps" in batch or any(len(target["boxes"]) for target in batch["targets"])
    # SSD learns nothing of a batch without objects: it takes three negatives for each positive
    assert not has_objects or any(
        weight.grad is not None and weight.grad.abs().sum() > 0 for weight in trainable.parameters()
    )


@pytest.mark.parametrize("name", buildable(DETECTORS, [QUICK]))
@pytest.mark.parametrize("empty", [False, True])
def test_detectors(name: str, empty: bool, tmp_path: Path) -> None:
    data = write_shapes(tmp_path / "data", count=5)
    content = json.loads(data.read_text())
    for record in content["annotations"]:
        x, y, width, height = record["bbox"]
        record["keypoints"] = [x, y, 2, x + width, y, 2, x + width, y + height, 0, x, y + height, 1]
        record["iscrowd"] = int(empty and record["image_id"] != content["images"][0]["id"])
    data.write_text(json.dumps(content))
    config = load_config(
        write_config(DataRequest(load_config(name), data, tmp_path / "own.py", data.parent / "images")).path
    )
    if empty:  # but for one image, each is of crowds alone
        config = replace(config, train_dataset={**(config.train_dataset or {}), "annotations": str(data)})
    check_losses(config, batch_size=1 if empty else 4)


def write_roads(root: Path, value: int = 1) -> Path:
    """A VOC folder of three images whose label maps have the values 0, `value` and 255."""
    values = np.zeros((60, 80), np.uint8)
    values[20:40], values[50:] = value, 255
    for name in ("a", "b", "c"):
        write_image(root / "JPEGImages" / f"{name}.jpg", (60, 80))
        write_label_map(root / "SegmentationClass" / f"{name}.png", values, palette=True)
    write_list(root / "ImageSets/Segmentation/train.txt", ["a", "b", "c"])
    return root


OWN_ROADS = """
_base_ = ["{base}"]
model = dict({classes})
task = dict(classes=[dict(name="other", category_id=0), dict(name="road", category_id=1)])
train_dataset = dict(type="VOCSegmentation", root="{root}", split="train")
dataset = dict(_delete_=True, type="VOCSegmentation", root="{root}", split="train")
evaluator = dict(type="MeanIoU", num_classes=2)
card = gate_dataset = calibration_dataset = None
checkpoint = "best.safetensors"
train = dict(_delete_=True, iterations=2, batch_size=2, optimizer=dict(type="AdamW", lr=1e-3))
"""


def segmentor(name: str, folder: Path, value: int = 1, own: str = OWN_ROADS) -> ModelConfig:
    path, root = folder / "own.py", write_roads(folder / "voc", value)
    classes = "decode_head=dict(num_classes=2)" if "decode_head" in load_config(name).model else "num_classes=2"
    path.write_text(own.format(base=ROOT / "configs/segmentation" / f"{name}.py", root=root, classes=classes))
    return load_config(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", buildable(SEGMENTORS))
def test_segmentors(name: str, tmp_path: Path) -> None:
    check_losses(segmentor(name, tmp_path))


@pytest.mark.slow
def test_torchvisions_segmentors(tmp_path: Path) -> None:
    own = OWN_ROADS.replace("_delete_=True, iter", "iter")  # there is no recipe to replace
    config = segmentor("lraspp_mobilenet-v3-large_coco-voc", tmp_path, own=own)
    check_losses(config, batch_size=2)


def test_keypoints_are_not_mirrored(tmp_path: Path) -> None:
    config = replace(load_config("keypoint-rcnn_r18-fpn_digits"), path=tmp_path / "own.py")
    recipe = replace(Recipe.from_config(config), mirror=True)
    with pytest.raises(InputError, match=r"own.py: train.mirror: keypoints change their names .*; leave mirror out"):
        training_data(config, recipe, torch.nn.Identity(), config_dataset(config, "dataset"))


def test_label_maps_with_values_beyond_the_classes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has 3 faults: .*a.png: got values 7, expected the category_id of a class"):
        own_dataset(segmentor("fcn_r18_digits", tmp_path, value=7))


def test_difficult_objects_of_voc_are_not_learned(tmp_path: Path) -> None:
    objects = [voc_object("road", (1, 1, 30, 20)), voc_object("road", (11, 1, 40, 30), difficult=1)]
    root = write_voc(tmp_path / "voc", {"a": objects})
    content: dict[str, Any] = {
        "model": {"type": "YOLOv5", "num_classes": 1},
        "task": {"type": "Detection", "classes": [{"name": "road", "category_id": None}]},
        "preprocess": {"size": (60, 80)},
        "train_dataset": {"type": "VOCDetection", "root": str(root), "split": "val"},
        "train": {"iterations": 1, "batch_size": 1, "optimizer": {"type": "SGD", "lr": 0.1}},
    }
    config = ModelConfig.from_dict(tmp_path / "own.py", content)
    model = build_model(of_family(QUICK), weights=False)
    (batch,) = training_data(config, Recipe.from_config(config), model, own_dataset(config))
    assert [target["boxes"].tolist() for target in batch["targets"]] == [[[0, 0, 60, 40]]]
