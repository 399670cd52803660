"""The base of all contracts."""

from collections.abc import Mapping
from typing import Any

from torch import nn


class Contract(nn.Module):
    """A model with the keyword arguments of its forward; subclasses give the contract's tensors of one level.

    forward: images float32 [N, 3, H, W], RGB, 0..1 -> a tuple of tensors in the order of `task.outputs(level)`.
    """

    num_slots: int | None = None

    def __init__(self, model: nn.Module, forward: Mapping[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.forward_options = dict(forward)
        self.eval()  # a fresh module is in training mode, and the torchscript exporter would leave the model in it
