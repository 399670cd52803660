"""Sizes that transformers turns into plain numbers, which dynamo then takes for those of every image and batch."""

import builtins
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from transformers.models.d_fine import modeling_d_fine
from transformers.models.deimv2 import modeling_deimv2
from transformers.models.rt_detr import modeling_rt_detr
from transformers.models.rt_detr_v2 import modeling_rt_detr_v2
from transformers.utils import generic

from rewriters.patching.rewriter import rewrites

WRITTEN_FOR = "transformers 5.23"


@rewrites(
    generic,
    "torch_int",
    reason="int() of a size makes the traced one the only one that dynamo's graph takes",
    written_for=WRITTEN_FOR,
    exporter="dynamo",
)
def symbolic_int(_original: Callable[..., Any], x: Any) -> Any:
    """The size itself, where dynamo gives one that may vary."""
    return torch.sym_int(x) if isinstance(x, torch.SymInt | torch.SymFloat) else NotImplemented


def _length(x: Any) -> Any:
    return x.shape[0] if isinstance(x, Tensor) else builtins.len(x)


def _declare(module: Any, kind: type) -> None:
    @rewrites(
        kind,
        "forward",
        reason="len() of the encoder's output makes the traced batch the only one that dynamo's graph takes",
        written_for=WRITTEN_FOR,
        exporter="dynamo",
    )
    def of_any_batch(original: Callable[..., Any], self: Any, *arguments: Any, **named: Any) -> Any:
        """While it runs, the model's module has a len of its own, of which a batch may vary."""
        module.len = _length
        try:
            return original(self, *arguments, **named)
        finally:
            del module.len


MODELS: tuple[tuple[ModuleType, type], ...] = (
    (modeling_d_fine, modeling_d_fine.DFineModel),
    (modeling_deimv2, modeling_deimv2.Deimv2Model),
    (modeling_rt_detr, modeling_rt_detr.RTDetrModel),
    (modeling_rt_detr_v2, modeling_rt_detr_v2.RTDetrV2Model),
)
for _module, _kind in MODELS:
    _declare(_module, _kind)
