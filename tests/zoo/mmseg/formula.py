"""Weights by a formula, so that two implementations of one architecture can be compared by a few numbers."""

from collections.abc import Mapping

import torch
from torch import Tensor


def formula_state(own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A state dict of the names and shapes given: waves, scaled so that activations keep their size."""
    state = {}
    for index, name in enumerate(sorted(own)):
        shape = own[name].shape
        wave = torch.sin(1.7 * torch.arange(shape.numel(), dtype=torch.float64) + index).float().reshape(shape)
        if name.endswith("num_batches_tracked"):
            state[name] = torch.zeros(shape, dtype=torch.int64)
        elif name.endswith("relative_position_index"):
            state[name] = (torch.arange(shape.numel()) % shape[0]).reshape(shape)
        elif name.endswith("running_var"):
            state[name] = 1 + 0.5 * wave
        elif len(shape) > 1:
            state[name] = 2 * wave / shape[1:].numel() ** 0.5
        elif name.endswith(("weight", "gamma")):
            state[name] = 1 + 0.3 * wave
        else:
            state[name] = 0.3 * wave
    return state


def formula_images(height: int = 65, width: int = 97) -> Tensor:
    """float32 [2, 3, height, width], 0..1."""
    y, x = torch.arange(height, dtype=torch.float64)[:, None], torch.arange(width, dtype=torch.float64)
    planes = [0.5 + 0.5 * torch.sin(0.11 * (k + 1) * y + 0.07 * x * (k % 3 + 1) + k) for k in range(6)]
    return torch.stack(planes).float().reshape(2, 3, height, width)


def sample(logits: Tensor) -> Tensor:
    """A few of the logits [N, C, H, W], from all over the map, in float64."""
    return logits[:, :, ::21, ::31].flatten().double()


def described(state: Mapping[str, Tensor]) -> list[str]:
    """A line for each tensor, "name 8x3x3x3", in the order of names; for a batch norm one, "name batch-norm 8"."""
    norms = {
        name.removesuffix("running_var"): tensor.numel() for name, tensor in state.items() if "running_var" in name
    }
    lines = [f"{name.removesuffix('.')} batch-norm {size}" for name, size in norms.items()]
    for name, tensor in state.items():
        if f"{name.rpartition('.')[0]}." not in norms:
            lines.append(f"{name} {'x'.join(map(str, tensor.shape))}")
    return sorted(lines)
