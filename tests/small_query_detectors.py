"""Query detectors of transformers, small: the folder of each as save_pretrained writes it, with live random weights."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

CLASSES = 5
QUERIES = 12
SIDE = 64  # the images that the weights are made for
SPREAD = 2.0  # deviation of the class logits


def save(name: str, folder: Path, seed: int = 0) -> Any:
    """The model, in eval mode, and its folder: config.json and model.safetensors."""
    model = small(name, seed)
    model.save_pretrained(folder)
    return model


def small(name: str, seed: int = 0) -> Any:
    """The model of SETTINGS, whose batch norms have the statistics of random images, and whose scores differ."""
    from transformers import AutoModelForObjectDetection

    torch.manual_seed(seed)
    model = AutoModelForObjectDetection.from_config(SETTINGS[name]()).eval()
    images = torch.rand(2, 3, SIDE, SIDE)
    _learn_statistics(model, images)
    for end in ("class_embed", "class_labels_classifier", "enc_score_head", "enc_out_class_embed"):
        _spread([layer for path, layer in model.named_modules() if end in path and _decides(layer)], model, images)
    return model


def _learn_statistics(model: nn.Module, images: Tensor) -> None:
    """Each batch norm, frozen or not, takes those of what it is given, from the first one to the last."""

    def learn(norm: Any, inputs: tuple[Tensor, ...]) -> None:
        norm.running_mean.copy_(inputs[0].mean(dim=(0, 2, 3)))
        norm.running_var.copy_(inputs[0].var(dim=(0, 2, 3)) + 1e-3)

    hooks = [layer.register_forward_pre_hook(learn) for layer in model.modules() if hasattr(layer, "running_mean")]
    with torch.no_grad():
        model(pixel_values=images)
    for hook in hooks:
        hook.remove()


def _decides(layer: nn.Module) -> bool:
    return isinstance(layer, nn.Linear) and layer.out_features in (CLASSES, CLASSES + 1)


def _spread(layers: list[Any], model: nn.Module, images: Tensor) -> None:
    """The layers' outputs have the mean -1 and the deviation SPREAD."""
    for layer in {id(layer.weight): layer for layer in layers}.values():
        seen: list[Tensor] = []
        hook = layer.register_forward_hook(lambda _layer, _inputs, output, seen=seen: seen.append(output))
        with torch.no_grad():
            model(pixel_values=images)
            hook.remove()
            if seen:
                values = seen[-1]
                scale = SPREAD / values.std()
                layer.bias.copy_((layer.bias - values.mean()) * scale - 1)
                layer.weight.mul_(scale)


def _backbone() -> Any:
    from transformers import ResNetConfig

    return ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 16, 32],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )


def _rt_backbone() -> Any:
    from transformers import RTDetrResNetConfig

    return RTDetrResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 16, 32],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )


HYBRID = {
    "encoder_hidden_dim": 32,
    "encoder_in_channels": [16, 16, 32],
    "feat_strides": [8, 16, 32],
    "encoder_layers": 1,
    "encoder_ffn_dim": 32,
    "encoder_attention_heads": 4,
    "d_model": 32,
    "num_queries": QUERIES,
    "decoder_layers": 2,
    "decoder_ffn_dim": 32,
    "decoder_attention_heads": 4,
    "decoder_in_channels": [32, 32, 32],
    "num_denoising": 0,
    "num_labels": CLASSES,
}
"""Of an encoder over three levels, and a decoder: RT-DETR and what came after it."""


def _rt_detr() -> Any:
    from transformers import RTDetrConfig

    return RTDetrConfig(backbone_config=_rt_backbone(), **HYBRID)


def _rt_detr_v2() -> Any:
    from transformers import RTDetrV2Config

    return RTDetrV2Config(backbone_config=_rt_backbone(), **HYBRID)


SETTINGS: Mapping[str, Callable[[], Any]] = {"rt_detr": _rt_detr, "rt_detr_v2": _rt_detr_v2}
"""The configuration of each, by the model_type of its architecture."""
