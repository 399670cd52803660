"""Classifiers for the table of other people's models, with seeded random weights that prefer some classes."""

from collections.abc import Callable
from typing import Any

import torch
from own_model_case import OwnModel
from torch import Tensor, nn
from torchvision_models import sample_images

from zoo.random_weights import learn_statistics, spread_logits
from zoo.registry import MODELS
from zoo.tasks import build_task

NUM_CLASSES = 10
SIZE, SECOND = (96, 128), (107, 139)


def classifier(
    kind: str,
    architecture: str,
    size: tuple[int, int] = SIZE,
    second: tuple[int, int] | None = SECOND,
    **options: Any,
) -> Callable[[], OwnModel]:
    """What builds the case of a registered model type, at `size` and `second` (height, width), None for fixed sizes."""

    def build() -> OwnModel:
        torch.manual_seed(0)
        model = MODELS.build({"type": kind, "architecture": architecture, "num_classes": NUM_CLASSES, **options})
        return calibrated_classifier(model, sample_images(3, size), second and sample_images(1, second))

    return build


def calibrated_classifier(model: nn.Module, images: Tensor, second: Tensor | None) -> OwnModel:
    """The case of a classifier of NUM_CLASSES, in eval mode, its batch norms and last layer changed in place."""
    learn_statistics(model, lambda: model(images))
    spread_logits(model, NUM_CLASSES, lambda: model(images))
    classes = [{"name": str(label), "category_id": label} for label in range(NUM_CLASSES)]
    return OwnModel(model, build_task({"type": "ImageClassification", "classes": classes}), images, second)
