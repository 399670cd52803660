"""Query detectors of transformers, small: the folder of each as save_pretrained writes it, with live random weights."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

CLASSES = 5
QUERIES = 12
BOX = 4  # centre x, y, width, height
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
    for layer in model.modules():
        if isinstance(layer, nn.Linear) and layer.out_features == BOX:  # zeros at first: all boxes would be alike
            nn.init.normal_(layer.weight, std=0.3)
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


LABELS = {"num_labels": CLASSES, "auxiliary_loss": False}
SMALL_BACKBONE = {
    "embedding_size": 8,
    "hidden_sizes": [8, 16, 16, 32],
    "depths": [1, 1, 1, 1],
    "layer_type": "basic",
    "out_features": ["stage2", "stage3", "stage4"],
}
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
    **LABELS,
}
"""Of an encoder over three levels, and a decoder: RT-DETR and what came after it."""
SHALLOW = {"depth_mult": 0.34}
"""One block in a row: three of random weights turn rounding into 1.7e-4 of the range of the logits, one into 7e-6."""
PLAIN = {
    "d_model": 32,
    "num_queries": QUERIES,
    "encoder_layers": 1,
    "encoder_ffn_dim": 32,
    "encoder_attention_heads": 4,
    "decoder_layers": 2,
    "decoder_ffn_dim": 32,
    "decoder_attention_heads": 4,
    **LABELS,
}
"""Of an encoder over one level or more, as DETR has it."""


def _settings(kind: str, backbone: str | None = None, **values: Any) -> Any:
    """A configuration of transformers, on a backbone of another one's class."""
    import transformers

    if backbone is not None:
        values["backbone_config"] = getattr(transformers, backbone)(**SMALL_BACKBONE)
    return getattr(transformers, kind)(**values)


def _hgnet(kind: str, **values: Any) -> Any:
    backbone = _settings(
        "HGNetV2Config",
        hidden_sizes=[16, 16, 16, 32],
        embedding_size=8,
        stem_channels=[3, 8, 8],
        stage_in_channels=[8, 16, 16, 16],
        stage_mid_channels=[8, 8, 8, 8],
        stage_out_channels=[16, 16, 16, 32],
        stage_num_blocks=[1, 1, 1, 1],
        stage_downsample=[False, True, True, True],
        stage_light_block=[False, False, True, True],
        stage_kernel_size=[3, 3, 5, 5],
        stage_numb_of_layers=[1, 1, 1, 1],
        out_features=["stage2", "stage3", "stage4"],
    )
    return _settings(kind, backbone_config=backbone, **values)


def _lw_detr() -> Any:
    backbone = _settings(
        "LwDetrViTConfig",
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=SIDE,
        patch_size=16,
        num_windows=4,
        window_block_indices=[0],
        out_indices=[1, 2],
    )
    return _settings(
        "LwDetrConfig",
        backbone_config=backbone,
        projector_scale_factors=[1.0],
        d_model=32,
        c2f_num_blocks=1,
        decoder_layers=2,
        decoder_ffn_dim=32,
        decoder_self_attention_heads=4,
        decoder_cross_attention_heads=4,
        num_queries=QUERIES,
        group_detr=1,
        **LABELS,
    )


def _rf_detr() -> Any:
    backbone = _settings(
        "RfDetrDinov2Config",
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        mlp_ratio=1,
        image_size=SIDE,
        patch_size=16,
        num_windows=2,
        out_indices=[1, 3],
    )
    return _settings(
        "RfDetrConfig",
        backbone_config=backbone,
        d_model=32,
        intermediate_size=32,
        c2f_num_blocks=1,
        decoder_layers=2,
        decoder_ffn_dim=32,
        decoder_self_attention_heads=4,
        decoder_cross_attention_heads=4,
        num_queries=QUERIES,
        group_detr=1,
        **LABELS,
    )


def _yolos() -> Any:
    return _settings(
        "YolosConfig",
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=[SIDE, SIDE],
        patch_size=16,
        num_detection_tokens=QUERIES,
        use_mid_position_embeddings=False,
        **LABELS,
    )


LEVELS = {"num_feature_levels": 4, "two_stage_num_proposals": QUERIES}
SETTINGS: Mapping[str, Callable[[], Any]] = {
    "rt_detr": lambda: _settings("RTDetrConfig", "RTDetrResNetConfig", **HYBRID),
    "rt_detr_v2": lambda: _settings("RTDetrV2Config", "RTDetrResNetConfig", **HYBRID),
    "d_fine": lambda: _hgnet("DFineConfig", **HYBRID),
    "deimv2": lambda: _hgnet("Deimv2Config", **HYBRID, **SHALLOW),
    "detr": lambda: _settings("DetrConfig", "ResNetConfig", **PLAIN),
    "table-transformer": lambda: _settings("TableTransformerConfig", "ResNetConfig", **PLAIN),
    "conditional_detr": lambda: _settings("ConditionalDetrConfig", "ResNetConfig", **PLAIN),
    "dab-detr": lambda: _settings(
        "DabDetrConfig", "ResNetConfig", hidden_size=32, **{k: v for k, v in PLAIN.items() if k != "d_model"}
    ),
    "deformable_detr": lambda: _settings("DeformableDetrConfig", "ResNetConfig", **PLAIN, num_feature_levels=4),
    "deformable_detr_two_stage": lambda: _settings(
        "DeformableDetrConfig", "ResNetConfig", **PLAIN, **LEVELS, two_stage=True, with_box_refine=True
    ),
    "lw_detr": _lw_detr,
    "rf_detr": _rf_detr,
    "yolos": _yolos,
}
"""The configuration of each, by the model_type of its architecture and what sets it apart."""
