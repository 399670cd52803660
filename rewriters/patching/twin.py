"""A copy of a model for an exporter, which changes modules (train flags; dynamo puts fake parameters in)."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn


def twin(module: nn.Module, *, own_tensors: bool = False) -> nn.Module:
    """Modules of its own, the same tensors unless `own_tensors`: another thread may be running this very model.

    Compiled functions (torch.jit.script) that modules hold stay the same: they have no state, and cannot be copied.
    """
    kept: list[Any] = [] if own_tensors else [*module.parameters(), *module.buffers()]
    kept += [one for part in module.modules() for one in _held(vars(part)) if isinstance(one, torch.jit.ScriptFunction)]
    return copy.deepcopy(module, {id(one): one for one in kept})


def _held(value: object) -> Iterator[object]:
    """A value, or those of a dict, list or tuple."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _held(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _held(one)
    else:
        yield value
