"""Training in half precision where autocast allows it; the weights stay float32."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from mmengine.device import get_device
from mmengine.optim import OptimWrapper
from mmengine.runner import autocast
from torch import nn

from zoo.errors import InputError


class BFloat16OptimWrapper(OptimWrapper):  # type: ignore[misc]  # mmengine is untyped
    """For CPUs, where mmengine's AmpOptimWrapper refuses to work.

    bfloat16 has the range of float32: unlike float16, it needs no scaling of the loss.
    """

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        """The forward pass runs in here."""
        with super().optim_context(model), autocast(dtype=torch.bfloat16):
            yield


def optim_wrapper(*, amp: bool) -> dict[str, Any]:
    """The `optim_wrapper` section of a Runner on the device that it will take, without the optimizer.

    Raises InputError where `amp` cannot be had there.
    """
    device = get_device()
    if not amp:
        return {"type": "OptimWrapper"}
    if device == "cuda":
        return {"type": "AmpOptimWrapper", "dtype": "float16", "loss_scale": "dynamic"}
    if device == "cpu":
        return {"type": BFloat16OptimWrapper}
    raise InputError(f"--amp: mmengine trains on {device} here, which has no mixed precision; train without --amp")
