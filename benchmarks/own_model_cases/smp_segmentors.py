"""Segmentors of segmentation_models_pytorch on a ResNet-18: SmpSegmentor."""

from collections.abc import Callable

import torch
from own_model_case import OwnModel
from torchvision_models import sample_images

from zoo.random_weights import learn_statistics, spread_logits
from zoo.registry import MODELS
from zoo.tasks import build_task

MADE_OF = ("zoo/models/smp", "zoo/tasks/semantic_segmentation")
NUM_CLASSES, SIZE, SECOND = 4, (96, 128), (128, 160)
TASK = {"type": "SemanticSegmentation", "classes": [{"name": str(label)} for label in range(NUM_CLASSES)]}
ARCHITECTURES = ("Unet", "UnetPlusPlus", "FPN", "PSPNet", "DeepLabV3Plus", "Segformer")


def _case(architecture: str) -> Callable[[], OwnModel]:
    def build() -> OwnModel:
        torch.manual_seed(0)
        section = {"type": "SmpSegmentor", "architecture": architecture, "encoder": "resnet18"}
        model, images = MODELS.build({**section, "num_classes": NUM_CLASSES}), sample_images(3, SIZE)
        learn_statistics(model, lambda: model(images))
        spread_logits(model, NUM_CLASSES, lambda: model(images))
        return OwnModel(model, build_task(TASK), images, sample_images(1, SECOND))

    return build


CASES = {architecture: _case(architecture) for architecture in ARCHITECTURES}
