"""A copy of a model for an exporter, which changes modules (train flags; dynamo puts fake parameters in)."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from rewriters.patching.plain_weights import plain_weights


def twin(module: nn.Module, *, own_tensors: bool = False) -> nn.Module:
    """Modules of its own, the same tensors unless `own_tensors`: another thread may be running this very model.

    Compiled functions (torch.jit.script) that modules hold stay the same: they have no state, and cannot be copied, as
    computed tensors cannot. Weights that parametrizations compute are plain ones.
    """
    kept: list[Any] = [] if own_tensors else [*module.parameters(), *module.buffers()]
    kept += [one for part in module.modules() for one in _held(vars(part)) if _cannot_be_copied(one)]
    return plain_weights(copy.deepcopy(module, {id(one): one for one in kept}))


def _cannot_be_copied(value: object) -> bool:
    return isinstance(value, torch.jit.ScriptFunction) or (isinstance(value, Tensor) and not value.is_leaf)


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
