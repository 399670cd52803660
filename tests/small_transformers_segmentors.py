"""Segmentors and depth models of transformers, small, with live random weights."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch import nn

from tests.rewriters.small_segmentors import sample_images
from tests.zoo_configs import ROOT
from zoo.checkpoint import load_checkpoint
from zoo.registry import MODELS

CLASSES = 4
QUERIES = 10
CONVNEXT = {
    "hidden_sizes": [8, 8, 16, 16],
    "depths": [1, 1, 1, 1],
    "out_features": ["stage1", "stage2", "stage3", "stage4"],
}
SWIN = {
    "embed_dim": 8,
    "depths": [1, 1, 1, 1],
    "num_heads": [1, 1, 2, 2],
    "window_size": 4,
    "out_features": ["stage1", "stage2", "stage3", "stage4"],
}
VIT = {
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "image_size": 64,
    "patch_size": 16,
    "initializer_range": 0.2,
}
DINOV2 = {
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "image_size": 56,
    "patch_size": 14,
    "mlp_ratio": 1,
    "initializer_range": 0.2,
    "out_indices": [1, 2, 3, 4],
    "reshape_hidden_states": False,
}
MASKS = {"mask_feature_size": 32, "fpn_feature_size": 32, "init_std": 0.3}


def saved(name: str, folder: Path, seed: int = 0) -> Path:
    """The folder that save_pretrained writes for a model of SETTINGS."""
    small(name, seed).save_pretrained(folder)
    if name == "oneformer":
        write_tokenizer(folder)
    return folder


def small(name: str, seed: int = 0) -> Any:
    """transformers' own model, in eval mode."""
    import transformers

    kind, settings = SETTINGS[name]
    torch.manual_seed(seed)
    model = getattr(transformers, kind)(settings()).eval()
    for layer in model.modules():
        if isinstance(layer, nn.Linear) and layer.out_features == CLASSES + 1:  # else all queries are of one class
            nn.init.normal_(layer.weight)
        if isinstance(layer, nn.Embedding) and layer.num_embeddings == QUERIES:
            nn.init.normal_(layer.weight)
    if kind in WITH_MASKS:
        _let_queries_differ(model)
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    if norms:  # else activations vanish
        for norm in norms:
            norm.momentum = None  # the plain average
        model.train()
        with torch.no_grad():
            model(pixel_values=sample_images(4, 128, 128, seed))
    return model.eval()


def _let_queries_differ(model: Any) -> None:
    """No class has larger logits than the others on the mean over all queries, so that queries are of several."""
    if model.config.model_type == "oneformer":
        _spread_over_queries(model, "mask_embed", 1.0)
        _spread_over_queries(model, "class_embed", 3.0)
        return
    with torch.no_grad():
        means = model(pixel_values=sample_images(4, 64, 96)).class_queries_logits.mean(dim=(0, 1))
    for layer in model.modules():
        if isinstance(layer, nn.Linear) and layer.out_features == CLASSES + 1:
            layer.bias.data -= means
            layer.bias.data[-1] -= 2  # few are of no object


def _spread_over_queries(model: Any, part: str, deviation: float) -> None:
    """What the part's last layer gives has the mean 0 over all queries, and this deviation.

    OneFormer's queries are nearly the same with random weights: one class, and one mask for all. Noise and photographs
    are far from each other for it, so it is given both.
    """
    images = torch.cat([sample_images(2, 96, 96), photographs(2, 96, 96)])
    last = [layer for name, layer in model.named_modules() if part in name and isinstance(layer, nn.Linear)][-1]
    for _ in range(3):  # what a layer attends to follows from the masks before it
        seen: list[torch.Tensor] = []
        hook = last.register_forward_hook(lambda _layer, _inputs, output, seen=seen: seen.append(output))
        with torch.no_grad():
            model(pixel_values=images, task_inputs=torch.ones(len(images), 77))
            hook.remove()
            scale = deviation / seen[-1].std(dim=(0, 1)).mean()
            last.bias.copy_((last.bias - seen[-1].mean(dim=(0, 1))) * scale)
            last.weight.mul_(scale)


def photographs(count: int, height: int, width: int) -> torch.Tensor:
    """The digits' own, float32 [count, 3, height, width], normalised as for ImageNet."""
    files = sorted((ROOT / "zoo/data/digits/val/images").iterdir())[:count]
    images = [cv2.resize(cv2.imread(str(file)), (width, height))[..., ::-1] / 255 for file in files]
    normalised = (np.stack(images) - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    return torch.from_numpy(normalised).float().permute(0, 3, 1, 2).contiguous()


def built(name: str, folder: Path, kind: str = "TransformersSegmentor") -> Any:
    """zooport's model of the folder alone: the architecture, then the weights."""
    saved(name, folder)
    torch.manual_seed(99)  # not those of the weights
    model = MODELS.build({"type": kind, "folder": str(folder)}).eval()
    load_checkpoint(model, folder / "model.safetensors")
    return model


def write_tokenizer(folder: Path) -> None:
    """CLIP's, of the letters that OneFormer's tasks are written in."""
    from transformers import CLIPTokenizer

    letters = sorted({*"the task is semantic instance"} - {" "})
    names = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    tokenizer = CLIPTokenizer(vocab={name: number + 1 for number, name in enumerate(names)}, merges=[])
    tokenizer.save_pretrained(folder)


def _config(kind: str, backbone: tuple[str, Mapping[str, Any]] | None = None, **values: Any) -> Callable[[], Any]:
    """A configuration of transformers, on a backbone's."""

    def build() -> Any:
        import transformers

        if backbone is not None:
            name, options = backbone
            values["backbone_config"] = getattr(transformers, name)(**options)
        return getattr(transformers, kind)(**values)

    return build


WITH_MASKS = (
    "MaskFormerForInstanceSegmentation",
    "Mask2FormerForUniversalSegmentation",
    "OneFormerForUniversalSegmentation",
)
SETTINGS: dict[str, tuple[str, Callable[[], Any]]] = {
    "segformer": (
        "SegformerForSemanticSegmentation",
        _config(
            "SegformerConfig",
            hidden_sizes=[8, 8, 16, 16],
            depths=[1, 1, 1, 1],
            num_attention_heads=[1, 1, 2, 2],
            decoder_hidden_size=16,
            num_labels=CLASSES,
            initializer_range=0.2,
        ),
    ),
    "upernet": (
        "UperNetForSemanticSegmentation",
        _config(
            "UperNetConfig",
            ("ConvNextConfig", CONVNEXT),
            hidden_size=16,
            auxiliary_channels=8,
            auxiliary_in_channels=16,
            num_labels=CLASSES,
            initializer_range=0.2,
        ),
    ),
    "dpt": (
        "DPTForSemanticSegmentation",
        _config(
            "DPTConfig",
            **VIT,
            neck_hidden_sizes=[8, 8, 16, 16],
            fusion_hidden_size=16,
            backbone_out_indices=[0, 1, 2, 3],
            num_labels=CLASSES,
        ),
    ),
    "mobilevit": (
        "MobileViTForSemanticSegmentation",
        _config(
            "MobileViTConfig",
            hidden_sizes=[16, 16, 24],
            neck_hidden_sizes=[8, 8, 16, 16, 16, 16, 32],
            num_attention_heads=2,
            aspp_out_channels=16,
            num_labels=CLASSES,
            initializer_range=0.2,
        ),
    ),
    "mobilevitv2": (
        "MobileViTV2ForSemanticSegmentation",
        _config(
            "MobileViTV2Config",
            width_multiplier=0.25,
            base_attn_unit_dims=[32, 32, 32],
            n_attn_blocks=[1, 1, 1],
            aspp_out_channels=16,
            atrous_rates=[1, 2, 3],
            num_labels=CLASSES,
            initializer_range=0.2,
        ),
    ),
    "maskformer": (
        "MaskFormerForInstanceSegmentation",
        _config(
            "MaskFormerConfig",
            ("SwinConfig", SWIN),
            **MASKS,
            decoder_config={
                "model_type": "detr",
                "d_model": 32,
                "init_std": 0.3,
                "encoder_layers": 1,
                "decoder_layers": 2,
                "num_queries": QUERIES,
                "encoder_attention_heads": 2,
                "decoder_attention_heads": 2,
                "encoder_ffn_dim": 16,
                "decoder_ffn_dim": 16,
            },
            num_labels=CLASSES,
        ),
    ),
    "mask2former": (
        "Mask2FormerForUniversalSegmentation",
        _config(
            "Mask2FormerConfig",
            ("SwinConfig", SWIN),
            feature_size=32,
            mask_feature_size=32,
            hidden_dim=32,
            encoder_feedforward_dim=16,
            dim_feedforward=16,
            encoder_layers=1,
            decoder_layers=2,
            num_attention_heads=2,
            num_queries=QUERIES,
            num_labels=CLASSES,
            init_std=0.3,
        ),
    ),
    "oneformer": (
        "OneFormerForUniversalSegmentation",
        _config(
            "OneFormerConfig",
            ("SwinConfig", SWIN),
            conv_dim=32,
            mask_dim=32,
            hidden_dim=32,
            encoder_feedforward_dim=16,
            dim_feedforward=16,
            encoder_layers=1,
            decoder_layers=2,
            num_attention_heads=2,
            num_queries=QUERIES,
            text_encoder_width=16,
            text_encoder_num_layers=1,
            text_encoder_vocab_size=64,
            query_dec_layers=1,
            num_labels=CLASSES,
            init_std=0.3,
        ),
    ),
    "depth_anything": (
        "DepthAnythingForDepthEstimation",
        _config(
            "DepthAnythingConfig",
            ("Dinov2Config", {**DINOV2, "apply_layernorm": True}),
            reassemble_hidden_size=32,
            patch_size=14,
            neck_hidden_sizes=[8, 8, 16, 16],
            fusion_hidden_size=16,
            head_hidden_size=8,
            initializer_range=0.2,
        ),
    ),
    "dpt_depth": (
        "DPTForDepthEstimation",
        _config(
            "DPTConfig",
            **VIT,
            neck_hidden_sizes=[8, 8, 16, 16],
            fusion_hidden_size=16,
            backbone_out_indices=[0, 1, 2, 3],
        ),
    ),
    "dpt_dinov2": (
        "DPTForDepthEstimation",
        _config(
            "DPTConfig",
            ("Dinov2Config", {**DINOV2, "apply_layernorm": False}),
            neck_hidden_sizes=[8, 8, 16, 16],
            fusion_hidden_size=16,
            is_hybrid=False,
            initializer_range=0.2,
        ),
    ),
}
