"""What a model costs: its parameters, and the floating point operations of one image. Needs torch."""

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
from zoo.preprocess import CHANNELS


class Cost(NamedTuple):
    """`flops`: two for each multiply-add; `input_size`: (height, width) in pixels of the tensor that was run."""

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
    """Of the unpatched model on the first image of the config's data set, preprocessed as the config says.

    torch's FlopCounterMode counts convolutions, matrix products and attention, and nothing else; a deformable
    convolution counts as a plain one, without the work of its sampling. Where the work depends
    on what is seen (the proposals of a two-stage detector), so does the count. Raises InputError where the config has
    no data set, and what building the model and the data set raise.
    """
    if config.dataset is None:
        raise InputError(f"config {config.path} has no dataset to count on; add dataset=dict(type=...)")
    task, preprocess = config.task, config.preprocess
    model = build_model(config)
    module = contract_module(model, task, "final", config.export.forward, rule=preprocess)
    image = config_dataset(config, "dataset")[0]["image"]
    height, width = preprocess.geometry(*image.shape[:2]).tensor_size
    tensor = np.empty((1, CHANNELS, height, width), np.float32)
    preprocess.run(image, tensor[0])
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=DEFORMABLE) as counted:
        module(torch.from_numpy(tensor))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Cost(parameters, counted.get_total_flops(), (height, width))
