"""torchvision's complete classifiers, by the names of its own builders."""

from typing import Any

from torch import nn
from torchvision import models

from zoo.models.torchvision_builder import build_torchvision
from zoo.registry import MODELS

UNDECIDED = ("googlenet", "inception_v3")  # they warn where init_weights is left out, which only a training needs


def build_torchvision_classifier(architecture: str, num_classes: int, **options: Any) -> nn.Module:
    """`architecture`: as in ``torchvision.models``, for example "resnet18" or "mobilenet_v3_small".

    torchvision's own class, with its names of tensors: normalised images float32 [N, 3, H, W], RGB -> logits [N, C].
    The config's `preprocess` gives the mean and std that it was trained with. Random weights: nothing is downloaded.
    `options` are the keyword arguments of that builder. Raises InputError for a name that torchvision does not have.
    """
    if architecture in UNDECIDED:
        options = {"init_weights": False, **options}
    return build_torchvision(models, architecture, num_classes, **options)


MODELS.register_module(name="TorchvisionClassifier", module=build_torchvision_classifier)
