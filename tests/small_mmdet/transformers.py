"""Detectors of queries."""

from collections.abc import Mapping
from typing import Any

from tests.small_mmdet.sections import CLASSES, GROUPS, LOSSES, backbone, data_preprocessor


def mapper(first: int, channels: int, norm: Any = None) -> dict[str, Any]:
    inputs = [8, 16, 32, 64][first:]
    return {
        "type": "ChannelMapper",
        "in_channels": inputs,
        "kernel_size": 1,
        "out_channels": channels,
        "act_cfg": None,
        "norm_cfg": norm,
        "num_outs": len(inputs),
    }


def transformer(kind: str, width: int, head: Mapping[str, Any], first: int, **options: Any) -> dict[str, Any]:
    """One encoder layer and two decoder layers."""
    attention = {"embed_dims": width, "num_heads": 4, "dropout": 0.1, "batch_first": True}
    sampled = {"embed_dims": width, "num_heads": 4, "num_levels": 4 - first, "num_points": 2, "batch_first": True}
    plain = kind == "DETR"
    ffn = {"embed_dims": width, "feedforward_channels": 32, "num_fcs": 2, "ffn_drop": 0.1}
    decoder = {"self_attn_cfg": attention, "cross_attn_cfg": attention if plain else sampled, "ffn_cfg": ffn}
    return {
        "type": kind,
        "num_queries": 12,
        "data_preprocessor": data_preprocessor(),
        "backbone": backbone(first),
        "neck": mapper(first, width, None if plain else GROUPS),
        "encoder": {"num_layers": 1, "layer_cfg": {"self_attn_cfg": attention if plain else sampled, "ffn_cfg": ffn}},
        "decoder": {"num_layers": 2, "layer_cfg": decoder, "return_intermediate": True}
        | ({} if plain else {"post_norm_cfg": None}),
        "positional_encoding": {"num_feats": width // 2, "normalize": True},
        "bbox_head": {
            "num_classes": CLASSES,
            "loss_bbox": {"type": "L1Loss"},
            "loss_iou": {"type": "GIoULoss"},
            **head,
        },
        "train_cfg": None,
        "test_cfg": {"max_per_img": 10},
    } | options


def detr() -> dict[str, Any]:
    loss = {"type": "CrossEntropyLoss", "bg_cls_weight": 0.1, "use_sigmoid": False, "class_weight": 1.0}
    return transformer("DETR", 32, {"type": "DETRHead", "embed_dims": 32, "loss_cls": loss}, 3)


def deformable_detr() -> dict[str, Any]:
    head = {"type": "DeformableDETRHead", "embed_dims": 32, "loss_cls": LOSSES["loss_cls"]}
    return transformer("DeformableDETR", 32, head, 1, num_feature_levels=3, with_box_refine=True)


def dino() -> dict[str, Any]:
    """256 channels: the encoding of its places has them, whatever the config says."""
    head = {"type": "DINOHead", "embed_dims": 256, "loss_cls": LOSSES["loss_cls"]}
    options = {"num_feature_levels": 3, "with_box_refine": True, "as_two_stage": True}
    noise = {"label_noise_scale": 0.5, "box_noise_scale": 1.0}
    groups = {"dynamic": True, "num_groups": None, "num_dn_queries": 4}
    return transformer("DINO", 256, head, 1, dn_cfg={**noise, "group_cfg": groups}, **options)
