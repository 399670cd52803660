"""A small COCO folder, and what mmdetection's own Runner trains on it and measures."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from torch import nn

from tests.small_mmdet import CLASSES, SECTIONS, WITH_MASKS, byte_images, small
from zoo.codebases.as_deployed import as_deployed

NAMES = tuple(f"class {index}" for index in range(CLASSES))
SIZES = ((70, 110), (64, 128), (90, 100), (75, 128), (100, 72), (96, 96))
ITERATIONS = 6
CHECKPOINT = f"iter_{ITERATIONS}.pth"
SHARE = 8  # of the detections of an image, how many become its ground truth
NMS = {"type": "nms", "iou_threshold": 0.7}
PROPOSALS = {"nms_pre": 60, "max_per_img": 40, "nms": NMS, "min_bbox_size": 0}
SAMPLER = {"type": "RandomSampler", "num": 16, "pos_fraction": 0.25, "neg_pos_ub": -1, "add_gt_as_proposals": True}


def assigner(low: float, high: float) -> dict[str, Any]:
    return {"type": "MaxIoUAssigner", "pos_iou_thr": high, "neg_iou_thr": low, "min_pos_iou": low, "ignore_iof_thr": -1}


PLAIN = {"allowed_border": -1, "pos_weight": -1, "debug": False}
RPN = {"assigner": assigner(0.3, 0.7), "sampler": SAMPLER, **PLAIN}
RCNN = {"assigner": assigner(0.5, 0.5), "sampler": SAMPLER, "mask_size": 28, "pos_weight": -1, "debug": False}
TRAINING: Mapping[str, Any] = {
    "retinanet": {"assigner": assigner(0.4, 0.5), "sampler": {"type": "PseudoSampler"}, **PLAIN},
    "rtmdet": {"assigner": {"type": "DynamicSoftLabelAssigner", "topk": 13}, **PLAIN},
    "mask_rcnn": {"rpn": RPN, "rpn_proposal": PROPOSALS, "rcnn": RCNN},
}
"""The section train_cfg of a model."""
DECIDING = frozenset({"retina_cls", "rtm_cls", "fc_cls"})
"""The layers whose outputs are the logits of the classes."""


def draw(folder: Path) -> None:
    """The images for which the small models are made, at several sizes, and boxes at random to train on."""
    generator = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    pixels = [image.permute(1, 2, 0).numpy()[:, :, ::-1] for image in byte_images(4)]
    for number, (height, width) in enumerate(SIZES):
        name = f"{number}.png"
        cv2.imwrite(str(folder / "images" / name), cv2.resize(pixels[number % 4], (width, height)))
        images.append({"id": number, "file_name": name, "height": height, "width": width})
        for _ in range(3):
            left, top = generator.integers(0, 30, 2).tolist()
            box = [left, top, *generator.integers(20, 40, 2).tolist()]
            annotations.append(annotation(len(annotations), number, int(generator.integers(0, CLASSES)) + 1, box))
    write_coco(folder / "train.json", images, annotations)
    write_coco(folder / "val.json", images, [])


def annotation(number: int, image: int, category: int, box: list[float], segmentation: Any = None) -> dict[str, Any]:
    left, top, width, height = box
    corners = [left, top, left + width, top, left + width, top + height, left, top + height]
    return {
        "id": number,
        "image_id": image,
        "category_id": category,
        "bbox": box,
        "area": width * height,
        "iscrowd": 0,
        "segmentation": segmentation or [corners],
    }


def write_coco(path: Path, images: list[dict[str, Any]], annotations: list[dict[str, Any]]) -> None:
    categories = [{"id": index + 1, "name": name} for index, name in enumerate(NAMES)]
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))


def runner_config(name: str, folder: Path, resizing: list[dict[str, Any]]) -> dict[str, Any]:
    """As a person writes it, with training and test. `resizing`: the transforms of both."""
    has_masks = name in WITH_MASKS
    load, labels, pack = (
        {"type": "LoadImageFromFile"},
        {"type": "LoadAnnotations", "with_bbox": True, "with_mask": has_masks},
        {"type": "PackDetInputs"},
    )

    def loader(file: str, pipeline: list[dict[str, Any]], *, trains: bool) -> dict[str, Any]:
        dataset = {"type": "CocoDataset", "data_root": str(folder), "ann_file": file, "data_prefix": {"img": "images/"}}
        return {
            "batch_size": 2 if trains else 1,
            "num_workers": 0,
            "sampler": {"type": "InfiniteSampler" if trains else "DefaultSampler", "shuffle": trains},
            "dataset": {**dataset, "metainfo": {"classes": NAMES}, "pipeline": pipeline, "test_mode": not trains},
        }

    section = as_deployed({**SECTIONS, **WITH_MASKS}[name]())  # a Runner would follow init_cfg
    preprocessor = {**section["data_preprocessor"], **({"pad_mask": True} if has_masks else {})}
    metric = ["bbox", "segm"] if has_masks else "bbox"
    return {
        "default_scope": "mmdet",
        "model": {**section, "train_cfg": TRAINING[name], "data_preprocessor": preprocessor},
        "train_dataloader": loader("train.json", [load, labels, *resizing, pack], trains=True),
        "test_dataloader": loader("val.json", [load, *resizing, labels, pack], trains=False),
        "test_evaluator": {"type": "CocoMetric", "ann_file": str(folder / "val.json"), "metric": metric},
        "test_cfg": {"type": "TestLoop"},
        "train_cfg": {"type": "IterBasedTrainLoop", "max_iters": ITERATIONS},
        "optim_wrapper": {"type": "OptimWrapper", "optimizer": {"type": "Adam", "lr": 1e-4}},
        "custom_hooks": [{"type": "EMAHook", "momentum": 0.3}],
        "default_hooks": {"checkpoint": {"type": "CheckpointHook", "interval": ITERATIONS, "by_epoch": False}},
        "randomness": {"seed": 0},
    }


def unsaturated(model: nn.Module) -> nn.Module:
    """With half of each logit of a class: of scores that are 1.0 alike nothing says which comes first, and AP asks."""
    with torch.no_grad():
        for name, layer in model.named_modules():
            if isinstance(layer, nn.Conv2d | nn.Linear) and not DECIDING.isdisjoint(name.split(".")):
                layer.weight.mul_(0.5)
                layer.bias.mul_(0.5)
    return model


def trained_and_measured(name: str, config: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Train from live weights, make the ground truth of the validation, and give mmdetection's own figures.

    Some of what the trained model finds becomes the ground truth, each box moved a little: the figures are then neither
    0 nor 100, although a few iterations teach nothing.
    """
    from mmdet.models.detectors import TwoStageDetector
    from mmengine.registry import DefaultScope
    from mmengine.runner import Runner

    work = Path(config.work_dir)
    work.mkdir(parents=True)
    torch.save({"state_dict": unsaturated(small(name).model).state_dict(), "meta": {}}, work / "start.pth")
    found = work / "found"
    with DefaultScope.overwrite_default_scope("mmdet"), monkeypatch.context() as loading:
        loading.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")  # mmengine 0.10.7 loads its own checkpoints by pickle
        config.load_from = str(work / "start.pth")
        features = torch.no_grad()(TwoStageDetector.extract_feat)
        loading.setattr(TwoStageDetector, "extract_feat", features)  # mmcv's stand-in has no gradient of RoIAlign
        Runner.from_cfg(config).train()
        config.load_from = str(work / CHECKPOINT)
        evaluator = config.test_evaluator
        config.test_evaluator = {**evaluator, "format_only": True, "outfile_prefix": str(found)}
        Runner.from_cfg(config).test()
        make_truth(Path(evaluator["ann_file"]), found)
        config.test_evaluator = evaluator
        figures: dict[str, float] = Runner.from_cfg(config).test()
    return figures


def moved(box: list[float], size: tuple[int, int], generator: np.random.Generator) -> list[float]:
    """A box x y w h whose corners were moved, inside of an image of this (width, height)."""
    corners = np.array([*box[:2], box[0] + box[2], box[1] + box[3]]) + generator.normal(0, 2, 4)
    left, top, right, bottom = np.clip(corners, 0, (*size, *size)).tolist()
    return [left, top, max(right - left, 1.0), max(bottom - top, 1.0)]


def make_truth(path: Path, found: Path) -> None:
    """Every second one of the best detections, its box moved and its mask as it is found."""
    generator = np.random.default_rng(1)
    boxes = json.loads(Path(f"{found}.bbox.json").read_text())
    masks = Path(f"{found}.segm.json")
    codes = [one["segmentation"] for one in json.loads(masks.read_text())] if masks.exists() else [None] * len(boxes)
    content = json.loads(path.read_text())
    annotations = []
    for image in content["images"]:
        own = [(one, code) for one, code in zip(boxes, codes, strict=True) if one["image_id"] == image["id"]]
        for one, code in own[: 2 * SHARE : 2]:
            box = moved(one["bbox"], (image["width"], image["height"]), generator)
            annotations.append(annotation(len(annotations) + 1, image["id"], one["category_id"], box, code))
    write_coco(path, content["images"], annotations)
