"""Configs of mmdetection as zooport's; mmdetection is not needed for that."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.small_mmdet import SECTIONS, WITH_MASKS, WITH_WHOLE_MASKS
from tests.zoo.codebases.small_configs import write
from zoo.codebases import CodebaseConfig, codebase_of
from zoo.codebases.mmdet.codebase import Mmdet
from zoo.errors import InputError
from zoo.own_model import ModelRequest
from zoo.own_model.forms.openmmlab_config import OpenMMLabForm

PIPELINE = [
    {"type": "LoadImageFromFile", "backend_args": None},
    {"type": "Resize", "scale": (1333, 800), "keep_ratio": True},
    {"type": "LoadAnnotations", "with_bbox": True},
    {"type": "PackDetInputs", "meta_keys": ("img_id",)},
]
COCO = {"type": "CocoDataset", "data_root": "data/coco", "ann_file": "val.json", "data_prefix": {"img": "val2017/"}}


def content(name: str = "retinanet", **dataset: Any) -> dict[str, Any]:
    test = {"dataset": {**COCO, "pipeline": PIPELINE, **dataset}}
    sections = {**SECTIONS, **WITH_MASKS, **WITH_WHOLE_MASKS}
    return {"default_scope": "mmdet", "model": sections[name](), "test_dataloader": test}


def translated(content: dict[str, Any]) -> Any:
    return Mmdet().translate(CodebaseConfig(Path("my.py"), content))


@pytest.mark.parametrize(
    "found",
    [
        content(),
        {"model": {"type": "mmdet.RetinaNet"}},
        {"model": {"type": "RetinaNet", "data_preprocessor": {"type": "DetDataPreprocessor"}}},
    ],
)
def test_whose_it_is(found: dict[str, Any]) -> None:
    codebase = codebase_of(found, "my.py")
    assert codebase is not None
    assert codebase.scope == "mmdet"


def test_the_model_stays_as_it_is_and_normalises_by_itself() -> None:
    result = translated(content())
    model = result.content["model"]
    assert model["type"] == "MmdetDetector"
    assert model["config"] == {**SECTIONS["retinanet"](), "train_cfg": None}
    assert result.content["preprocess"] == {
        "resize": "shortest",
        "shortest_edge": 800,
        "longest_edge": 1333,
        "interpolation": "bilinear",
        "side_rounding": "half_up",
        "size_divisor": 32,
        "pad_value": (123.675, 116.28, 103.53),  # zero once it is normalised
    }
    assert result.content["export"] == {"inputs": {"batch": (1, 2, 4), "image_sizes": True}}  # padded: 32
    assert result.what == "RetinaNet on ResNet"
    assert result.num_classes == 5


@pytest.mark.parametrize(
    "transforms",
    [
        [*PIPELINE[:2], {"type": "Pad", "size_divisor": 32}, *PIPELINE[2:]],
        [PIPELINE[0], {"type": "Resize", "scale": (96, 64), "keep_ratio": False}, *PIPELINE[2:]],
    ],
    ids=["by a transform", "not at all"],
)
def test_an_image_ends_where_its_tensor_ends_if_the_data_preprocessor_pads_nothing(transforms: list[Any]) -> None:
    assert translated(content(pipeline=transforms)).content["export"] == {"inputs": {"batch": (1, 2, 4)}}


@pytest.mark.parametrize("to_rgb", [True, False])
def test_what_a_transform_normalises_the_model_does(to_rgb: bool) -> None:
    config = content()
    fields = config["model"]["data_preprocessor"]
    mean, std = fields["mean"], fields["std"]
    normalize = {"type": "Normalize", "mean": mean, "std": std, "to_rgb": to_rgb}
    other = content(pipeline=[*PIPELINE[:2], normalize, *PIPELINE[2:]])
    other["model"]["data_preprocessor"] = {
        key: value for key, value in fields.items() if key not in ("mean", "std", "bgr_to_rgb")
    }
    config["model"]["data_preprocessor"] = {**fields, "bgr_to_rgb": to_rgb}
    found, expected = translated(other).content, translated(config).content
    ours, theirs = (one["model"]["config"].pop("data_preprocessor") for one in (found, expected))
    assert found == expected
    values = [(one.pop("mean"), one.pop("std")) for one in (ours, theirs)]
    assert ours == theirs
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9)


def test_a_preprocessor_beside_the_model_is_the_models() -> None:
    config = content()
    config["data_preprocessor"] = config["model"].pop("data_preprocessor")
    assert translated(config).content == translated(content()).content


def test_the_data_set_and_the_ids_of_its_classes() -> None:
    result = translated(content())
    folder = Path("data/coco").resolve()
    expected = {"type": "CocoDetection", "images": str(folder / "val2017"), "annotations": str(folder / "val.json")}
    assert result.content["dataset"] == expected
    assert result.category_ids == [1, 2, 3, 4, 5]
    assert "category_id must be the ids of your annotations" in result.notes["export"]
    other = translated(content(type="LVISV1Dataset"))
    assert "dataset" not in other.content
    assert "mmdetection's LVISV1Dataset has no counterpart" in other.notes["export"]


def test_cocos_own_classes_have_cocos_ids() -> None:
    config = content()
    config["model"]["bbox_head"]["num_classes"] = 80
    ids = translated(config).category_ids
    assert len(ids) == 80
    assert (ids[0], ids[11], ids[-1]) == (1, 13, 90)  # no class has the id 12
    config["test_dataloader"]["dataset"]["metainfo"] = {"classes": ("a", "b")}
    assert translated(config).category_ids == list(range(1, 81))


@pytest.mark.parametrize("name", WITH_WHOLE_MASKS)
def test_masks_of_the_whole_image(name: str) -> None:
    result = translated(content(name))
    assert result.content["model"]["type"] == "MmdetInstanceSegmentor"
    assert result.content["task"] == {"type": "InstanceMasks"}
    assert result.num_classes == 5
    assert result.content["dataset"]["type"] == "CocoInstances"
    assert result.content["evaluator"] == {"type": "CocoMaskAP"}


def test_a_number_of_classes_that_is_nowhere() -> None:
    config = content()
    del config["model"]["bbox_head"]["num_classes"]
    words = "my.py: model RetinaNet: no num_classes in roi_head, bbox_head, mask_head, panoptic_head: zooport takes"
    with pytest.raises(InputError, match=words):
        translated(config)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"type": "YOLACT", "mask_head": {"type": "YOLACTProtonet"}}, "YOLACT gives a mask for each object by its YO"),
        ({"type": "CondInst", "mask_head": {"type": "CondInstMaskHead"}}, "CondInst gives a mask for each object by"),
        ({"bbox_head": {"type": "RTMDetInsSepBNHead", "num_classes": 5}}, "by its RTMDetInsSepBNHead, which zooport"),
        ({"panoptic_head": {"type": "MaskFormerHead", "num_stuff_classes": 53}}, "is for panoptic segmentation"),
        ({"type": "GroundingDINO", "language_model": {"type": "BertModel"}}, "GroundingDINO takes text beside the im"),
    ],
)
def test_a_model_that_would_lose_something_is_refused_by_its_name(parts: dict[str, Any], words: str) -> None:
    config = content()
    config["model"] |= parts
    with pytest.raises(InputError, match=words):
        translated(config)


def test_a_mirrored_test_is_refused() -> None:
    flip = {"type": "RandomFlip", "prob": 1.0}
    with pytest.raises(InputError, match="RandomFlip mirrors images in the test"):
        translated(content(pipeline=[*PIPELINE[:2], flip, *PIPELINE[2:]]))


def test_init_describes_the_model_by_its_config_and_checkpoint(tmp_path: Path) -> None:
    source = write(tmp_path, content("mask_rcnn"), "my_mask_rcnn.py")
    names = ("a", "b", "c", "d", "e")
    torch.save({"state_dict": {}, "meta": {"dataset_meta": {"classes": names}}}, tmp_path / "epoch_1.pth")
    request = ModelRequest(str(source), weights=tmp_path / "epoch_1.pth", out=tmp_path / "out.py")
    description = OpenMMLabForm().describe(request, tmp_path / "out.py")
    assert description.what == "MaskRCNN on ResNet, from my_mask_rcnn.py of mmdet."
    assert description.content["model"]["config"]["roi_head"]["type"] == "StandardRoIHead"
    task = description.content["task"]
    assert (task["type"], task["sampled_masks"]) == ("InstanceSegmentation", True)
    assert [(entry["name"], entry["category_id"]) for entry in task["classes"]] == [
        *zip(names, range(1, 6), strict=True)
    ]
    assert description.content["dataset"]["type"] == "CocoInstances"
    assert description.content["evaluator"] == {"type": "CocoMaskAP"}
