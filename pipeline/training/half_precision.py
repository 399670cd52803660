"""What is published of a model: its state, floating point in half precision."""

import safetensors.torch
from torch import Tensor, nn

from zoo.errors import InputError


def half_precision_file(model: nn.Module) -> bytes:
    """Safetensors of the state dict, floating point as fp16. Raises InputError as `half_state` does."""
    return safetensors.torch.save(half_state(model))


def round_to_half(model: nn.Module) -> None:
    """Rounds weights and buffers, in place, to what a half-precision file keeps of them. As `half_state` raises."""
    model.load_state_dict(half_state(model))


def half_state(model: nn.Module) -> dict[str, Tensor]:
    """The state dict with floating point as fp16.

    Raises InputError, naming the first, where a tensor is not finite or cannot be in half precision: such a training
    has diverged, and what it left must not take the place of good weights.
    """
    state = {}
    for name, tensor in model.state_dict().items():
        state[name] = (tensor.half() if tensor.is_floating_point() else tensor).contiguous()
        if not state[name].isfinite().all():
            largest = tensor.abs().max().item()
            raise InputError(
                f'the training has diverged: tensor "{name}" is not finite in half precision (largest: {largest}); '
                "lower the rate of the optimizer, or train.max_grad_norm, and train again"
            )
    return state
