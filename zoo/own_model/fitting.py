"""What a checkpoint says of the model that it is of: the arguments that decide the shapes of tensors. Needs torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from zoo.build import build_section
from zoo.checkpoint import state_for
from zoo.errors import InputError
from zoo.state_fit import check_fits

CURE = "check the arguments, --arg NAME=VALUE"
TRIED = (3, 5)
"""Values of an argument: the shapes of tensors grow with it by steps."""


def unfilled(section: Mapping[str, Any]) -> nn.Module:
    """The model of a section of a config, without memory for its tensors where its builder allows that.

    Raises InputError for arguments that its builder refuses.
    """
    try:
        with torch.device("meta"):
            return build_section(section, CURE)
    except InputError as error:
        if not isinstance(error.__cause__, NotImplementedError):  # its builder reads a tensor
            raise
    return build_section(section, CURE)


def fitting_value(section: Mapping[str, Any], argument: str, state: Mapping[str, Any], checkpoint: Path) -> int:
    """The value of an argument, a number of classes say, with which the model has the shapes of a state dict.

    Raises InputError where the state has none of the tensors whose shapes follow the argument, which is then of another
    model, or where they contradict one another.
    """
    model = unfilled({**section, argument: TRIED[0]})
    few, many = model.state_dict(), unfilled({**section, argument: TRIED[1]}).state_dict()
    state = state_for(model, state, checkpoint)
    values: dict[float, str] = {}
    for name in few.keys() & state.keys():
        for low, high, size in zip(few[name].shape, many[name].shape, state[name].shape, strict=False):
            if low != high:
                values[TRIED[0] + (size - low) * (TRIED[1] - TRIED[0]) / (high - low)] = name
    what = f"checkpoint {checkpoint}"
    if not values:
        check_fits(few, state, what)
        raise InputError(f"{what}: no tensor of {section['type']} follows {argument}; give --arg {argument}=NUMBER")
    value, *others = sorted(values)
    if others or not value.is_integer():
        claims = ", ".join(f"{number:g} ({values[number]})" for number in sorted(values))
        raise InputError(f"{what} is not of this model: {argument} would be {claims}; check the name of the model")
    return int(value)
