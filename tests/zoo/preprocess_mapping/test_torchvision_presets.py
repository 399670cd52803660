"""Mapped presets of torchvision beside the presets themselves, on photographs."""

from typing import Any

import pytest
import torch
from PIL import Image
from torchvision.models import RegNet_Y_16GF_Weights, ResNet18_Weights, get_weight
from torchvision.models.segmentation import FCN_ResNet50_Weights

from tests.zoo.preprocess_mapping.photographs import check_same, photographs
from zoo.preprocess_mapping import TORCHVISION_FIELDS, from_torchvision

PRESETS = {
    "classifier": ResNet18_Weights.IMAGENET1K_V1.transforms(),
    "bicubic": RegNet_Y_16GF_Weights.IMAGENET1K_SWAG_E2E_V1.transforms(),
    "other sizes": ResNet18_Weights.IMAGENET1K_V1.transforms(crop_size=223, resize_size=232),
    "segmentor": FCN_ResNet50_Weights.COCO_WITH_VOC_LABELS_V1.transforms(resize_size=320),
    "detector": get_weight("FasterRCNN_ResNet50_FPN_Weights.COCO_V1").transforms(),
}


def fields_of(preset: Any) -> dict[str, Any]:
    """The attributes that it has."""
    return {name: getattr(preset, name) for name in TORCHVISION_FIELDS if hasattr(preset, name)}


@pytest.mark.parametrize(
    ("name", "of_tensors"),
    [*((name, False) for name in PRESETS), *((name, True) for name in PRESETS if name != "bicubic")],
)
def test_a_grey_level_at_most(name: str, *, of_tensors: bool) -> None:
    """Of Pillow's images, which the presets are documented with; of tensors torchvision's cubic filter overshoots."""
    preprocess = from_torchvision(fields_of(PRESETS[name]))
    for photograph in photographs().values():
        image = torch.from_numpy(photograph).permute(2, 0, 1) if of_tensors else Image.fromarray(photograph)
        check_same(preprocess, photograph, PRESETS[name](image))
