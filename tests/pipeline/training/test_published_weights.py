"""What is published is the state in half precision, where it is fit for that."""

import pytest
import torch
from safetensors.torch import load
from torch import nn

from pipeline.training import half_precision_file
from zoo.errors import InputError


def test_half_precision() -> None:
    model = nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)).to(memory_format=torch.channels_last)
    state = load(half_precision_file(model))
    assert {name: tensor.dtype for name, tensor in state.items()} == {
        name: torch.float16 if tensor.is_floating_point() else tensor.dtype
        for name, tensor in model.state_dict().items()
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e5])
@pytest.mark.parametrize("name", ["0.weight", "1.running_var"])
def test_what_is_not_finite_in_half_precision_is_refused(name: str, value: float) -> None:
    model = nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))
    model.state_dict()[name].view(-1)[0] = value
    with pytest.raises(InputError, match=f'training has diverged: tensor "{name}" is not finite in half precision'):
        half_precision_file(model)
