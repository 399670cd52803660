"""What is published of a trained model: its state in half precision, and the record of its training."""

import hashlib

import safetensors.torch
from torch import Tensor, nn

from pipeline.training.recipe import Recipe
from zoo.cards import Figures, TrainingRecord, TrainingRun
from zoo.cards.training_record import Datasets
from zoo.errors import InputError
from zoo.shared_tensors import under_one_name

LICENCE = "Apache-2.0, as the rest of zooport; the training images' own licences are in zoo/data/digits/README.md"


def half_precision_file(model: nn.Module) -> bytes:
    """Safetensors of the state dict, buffers included, floating point as fp16; what has two names is there once.

    Raises InputError, naming the first, where a tensor is not finite or cannot be in half precision: such a training
    has diverged, and what it left must not take the place of good weights.
    """
    state = under_one_name(model.state_dict())
    return safetensors.torch.save({name: _half(name, tensor) for name, tensor in state.items()})


def _half(name: str, tensor: Tensor) -> Tensor:
    half = (tensor.half() if tensor.is_floating_point() else tensor).contiguous()
    if not half.isfinite().all():
        raise InputError(
            f'the training has diverged: tensor "{name}" is not finite in half precision (largest: '
            f"{tensor.abs().max().item()}); lower the rate of the optimizer, or train.max_grad_norm, and train again"
        )
    return half


def training_record(
    name: str,
    weights: bytes,
    model: nn.Module,
    figures: Figures,
    datasets: Datasets,
    recipe: Recipe,
    run: TrainingRun,
    licence: str = LICENCE,
) -> TrainingRecord:
    """Of weights that `half_precision_file` gave of the model, to be written as the file `name`."""
    return TrainingRecord(
        file=name,
        bytes=len(weights),
        sha256=hashlib.sha256(weights).hexdigest(),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        licence=licence,
        figures=figures,
        datasets=datasets,
        recipe=recipe.to_dict(),
        training=run,
    )
