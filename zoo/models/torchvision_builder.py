"""Building a model of torchvision by its name."""

from inspect import signature
from types import ModuleType
from typing import Any

from torch import nn
from torchvision.models import get_model_builder, list_models

from zoo.errors import InputError, nearest


def build_torchvision(module: ModuleType, architecture: str, num_classes: int, **options: Any) -> nn.Module:
    """`architecture` of the torchvision module `module`, with random weights. `options`: of its builder.

    Raises InputError for an unknown architecture.
    """
    names = list_models(module=module)
    if architecture not in names:
        raise InputError(f'unknown torchvision architecture "{architecture}"; {nearest(architecture, names)}')
    builder = get_model_builder(architecture)
    untrained = dict.fromkeys({"weights", "weights_backbone"} & signature(builder).parameters.keys())
    model: nn.Module = builder(num_classes=num_classes, **untrained, **options)
    return model
