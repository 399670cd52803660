"""Building a model of torchvision by its name."""

from types import ModuleType
from typing import Any

from torch import nn
from torchvision.models import get_model, list_models

from zoo.errors import InputError, nearest


def build_torchvision(module: ModuleType, architecture: str, num_classes: int, **options: Any) -> nn.Module:
    """`architecture` of the torchvision module `module`, with random weights. Raises InputError for an unknown one."""
    names = list_models(module=module)
    if architecture not in names:
        raise InputError(f'unknown torchvision architecture "{architecture}"; {nearest(architecture, names)}')
    model: nn.Module = get_model(architecture, weights=None, weights_backbone=None, num_classes=num_classes, **options)
    return model
