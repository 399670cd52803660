"""Weights that torch's parametrizations compute at each call (torch.nn.utils.parametrize) become plain parameters."""

from typing import Any

import torch
from torch import nn
from torch.nn.utils.parametrize import is_parametrized


def plain_weights(module: nn.Module) -> nn.Module:
    """The module with plain weights, changed in place; tensors and classes that another module shares stay as they are.

    torch's remove_parametrizations changes both.
    """
    parts: list[Any] = [part for part in module.modules() if is_parametrized(part)]
    for part in parts:
        with torch.no_grad():
            weights = {name: getattr(part, name).detach() for name in part.parametrizations}
        del part.parametrizations
        part.__class__ = type(part).__bases__[0]
        for name, weight in weights.items():
            part.register_parameter(name, nn.Parameter(weight, requires_grad=False))
    return module
