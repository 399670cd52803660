"""torchvision's complete segmentors, by the names of its own builders."""

from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models import segmentation

from zoo.models.torchvision_builder import build_torchvision
from zoo.registry import MODELS

MEAN = (0.485, 0.456, 0.406)  # of ImageNet, RGB, for images 0..1: torchvision's SemanticSegmentation transform
STD = (0.229, 0.224, 0.225)


def build_torchvision_segmentor(architecture: str, num_classes: int, **options: Any) -> nn.Module:
    """`architecture`: as in ``torchvision.models.segmentation``, for example "fcn_resnet50".

    torchvision's own class, with its names of tensors: images float32 [N, 3, H, W], RGB, 0..1 -> {"out": logits [N, C,
    H, W]} and, with the option `aux_loss`, "aux" beside it. torchvision leaves mean and std to its transform; here a
    forward pre-hook takes them off, as detectors do it themselves. Random weights: nothing is downloaded. `options` are
    the keyword arguments of that builder. Raises InputError for a name that torchvision does not have.
    """
    model = build_torchvision(segmentation, architecture, num_classes, **options)
    for name, values in (("image_mean", MEAN), ("image_std", STD)):
        model.register_buffer(name, torch.tensor(values).view(1, 3, 1, 1), persistent=False)
    model.register_forward_pre_hook(_normalize)
    return model


def _normalize(model: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
    (images,) = inputs
    return ((images - model.get_buffer("image_mean")) / model.get_buffer("image_std"),)


MODELS.register_module(name="TorchvisionSegmentor", module=build_torchvision_segmentor)
