"""Random weights that detect something, for tests and benchmarks without a checkpoint.

Nothing in production imports this.

Fresh weights give features that vanish or explode and scores that are all alike, so that a comparison of two graphs
compares nothing. Here batch norms learn the statistics of some images, and the layers that decide are scaled until
their outputs spread. A residual branch counts a quarter, as it does in trained networks: at full weight Faster
R-CNN R50 turns noise of 1e-6 in its input into 4e-4 to 2e-2 in its scores (at a quarter: 3e-5 to 9e-5), so that
PyTorch does not even equal itself without oneDNN.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torchvision.models.resnet import BasicBlock, Bottleneck

from zoo.errors import InputError
from zoo.families import family_of

RESIDUAL = 0.25  # weight of the last batch norm of a residual branch
PASSES = 10  # over the images, for the running statistics
LOGIT_STD = 2.0


def spread_detector(model: Any, images: Sequence[Tensor]) -> None:
    """Spreads what one of torchvision's detectors gives, by its weights, in place; images float32 [3, H, W], RGB, 0..1.

    The model is in eval mode afterwards. Raises InputError for another kind of model.
    """
    spread = family_of(model).spread
    if not spread:
        raise InputError(f"model {type(model).__name__}: expected one of torchvision's detectors")
    with torch.no_grad():
        for block in model.modules():
            if isinstance(block, BasicBlock | Bottleneck):
                last: Any = block.bn3 if isinstance(block, Bottleneck) else block.bn2
                last.weight.mul_(RESIDUAL)
        _learn_statistics(model, images)
        model.eval()
        for start, (mean, std) in spread.items():
            if layers := _deciding(model, start):
                spread_outputs(layers, mean, std, lambda: model(list(images)))


def learn_statistics(model: nn.Module, run: Callable[[], object], passes: int = PASSES) -> None:
    """Running statistics of every batch norm as the plain average over `passes` calls of `run`, which runs the model.

    Batch norms alone are in training mode meanwhile: nothing is dropped. The model is in eval mode afterwards.
    """
    model.eval()
    for norm in _norms(model):
        norm.train()
    with torch.no_grad(), _plain_averages(model):
        for _ in range(passes):
            run()
    model.eval()


def spread_logits(model: nn.Module, num_classes: int, run: Callable[[], object]) -> None:
    """Scales the last layers of a classifier or segmentor until its classes differ, for the images that `run` has.

    These are the linear layers and convolutions that give `num_classes` channels, with a bias. One whose weights are
    zero, as some begin, gets random ones first.
    """
    layers = [
        layer
        for layer in model.modules()
        if isinstance(layer, nn.Conv2d | nn.Linear) and layer.bias is not None and len(layer.bias) == num_classes
    ]
    with torch.no_grad():
        for layer in layers:
            if not layer.weight.any():
                nn.init.normal_(layer.weight)
        spread_outputs(layers, 0.0, LOGIT_STD, run)


def _learn_statistics(model: Any, images: Sequence[Tensor]) -> None:
    """Of the backbone and the head of a detector, in training mode."""
    model.train()
    batch = model.transform(list(images))[0].tensors
    with _plain_averages(model):
        for _ in range(PASSES):
            features = model.backbone(batch)
            if hasattr(model, "head"):
                model.head(list(features.values()))


def _norms(model: nn.Module) -> list[Any]:
    return [layer for layer in model.modules() if isinstance(layer, _BatchNorm)]


@contextmanager
def _plain_averages(model: nn.Module) -> Iterator[None]:
    norms = _norms(model)
    before = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = None
    try:
        yield
    finally:
        for norm, momentum in zip(norms, before, strict=True):
            norm.momentum = momentum


def _deciding(model: nn.Module, start: str) -> list[Any]:
    """Convolutions and linear layers with a bias whose name begins so: of each head the last ones."""
    return [
        layer
        for name, layer in model.named_modules()
        if name.startswith(start)
        and isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.Linear)
        and layer.bias is not None
    ]


def spread_outputs(layers: Sequence[Any], mean: float, std: float, run: Callable[[], object]) -> None:
    """Scale and shift layers with a bias, in place, so that what they give together has this mean and deviation.

    `run` runs the model, without gradients. Layers that give nothing meanwhile stay as they are.
    """
    seen: list[Tensor] = []
    hooks = [
        layer.register_forward_hook(lambda _module, _args, output: seen.append(output.flatten())) for layer in layers
    ]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    if not seen or not (values := torch.cat(seen)).numel() or not (deviation := values.std()):
        return  # nothing came so far: no proposals, no detections; or it is the same everywhere
    for layer in layers:
        layer.weight *= std / deviation
        layer.bias.copy_((layer.bias - values.mean()) * std / deviation + mean)
