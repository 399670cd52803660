"""What a model costs: its parameters, and the floating point operations of one input. Needs torch."""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
import torchvision.ops  # noqa: F401  # registers torch.ops.torchvision
from torch.utils.flop_counter import FlopCounterMode

from zoo.build import build_model
from zoo.config import ModelConfig
from zoo.datasets.building import config_dataset
from zoo.errors import InputError
from zoo.families import contract_module


class Cost(NamedTuple):
    """`flops`: two for each multiply-add; `input_size`: the last two axes of the tensor that was run.

    Of images its (height, width) in pixels.
    """

    parameters: int
    flops: int
    input_size: tuple[int, int]


def _deformable_flops(
    _x_shape: Sequence[int], weight_shape: Sequence[int], *_others: Any, out_shape: Sequence[int], **_options: Any
) -> int:
    """weight [C_out, C_in / groups, kh, kw], out [N, C_out, h, w]."""
    return 2 * prod(weight_shape[1:]) * prod(out_shape)


DEFORMABLE = {torch.ops.torchvision.deform_conv2d: _deformable_flops}


def model_cost(config: ModelConfig) -> Cost:
    """Of the unpatched model on the first image of the config's data set, or input of another kind, preprocessed as the
    config says.

    torch's FlopCounterMode counts convolutions, matrix products and attention, and nothing else; a deformable
    convolution counts as a plain one, without the work of its sampling. Where the work depends
    on what is seen (the proposals of a two-stage detector), so does the count. Raises InputError where the config has
    no data set, and what building the model and the data set raise.
    """
    if config.dataset is None:
        raise InputError(f"config {config.path} has no dataset to count on; add dataset=dict(type=...)")
    task, rule = config.task, config.preprocess
    kind = task.kind
    model = build_model(config)
    module = contract_module(model, task, "final", config.export.forward, rule=rule)
    value = config_dataset(config, "dataset")[0][kind.name]
    tensor = np.empty((1, *kind.slot_shape(rule, [value])), np.float32)
    others = kind.companions([kind.fill(rule, value, tensor[0])])
    arrays = [tensor, *(others[spec.name] for spec in kind.specs()[1:])]
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=DEFORMABLE) as counted:
        module(*map(torch.from_numpy, arrays))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    first, second = tensor.shape[-2:]
    return Cost(parameters, counted.get_total_flops(), (first, second))
