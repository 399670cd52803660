"""Models that give masks of the whole image."""

from typing import Any

from tests.small_mmdet.sections import CLASSES, GROUPS, SLOTS, WIDTH, backbone, data_preprocessor, neck

GRIDS = [12, 8, 6, 4, 3]
MATRIX_NMS = {
    "nms_pre": 100,
    "score_thr": 0.1,
    "mask_thr": 0.5,
    "filter_thr": 0.05,
    "kernel": "gaussian",
    "sigma": 2.0,
    "max_per_img": SLOTS,
}


def solo_like(kind: str, head: str, **options: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "data_preprocessor": data_preprocessor(),
        "backbone": backbone(0),
        "neck": neck(0, 5),
        "mask_head": {
            "type": head,
            "num_classes": CLASSES,
            "in_channels": WIDTH,
            "feat_channels": WIDTH,
            "stacked_convs": 2,
            "strides": [8, 8, 16, 32, 32],
            "scale_ranges": ((1, 16), (8, 32), (16, 48), (32, 96), (64, 192)),
            "num_grids": GRIDS,
            "norm_cfg": GROUPS,
            "loss_mask": {"type": "DiceLoss"},
            "loss_cls": {"type": "FocalLoss", "use_sigmoid": True},
            "cls_down_index": 0,
            **options,
        },
        "train_cfg": None,
        "test_cfg": MATRIX_NMS,
    }


def solo() -> dict[str, Any]:
    return solo_like("SOLO", "SOLOHead", pos_scale=0.2)


def decoupled_solo() -> dict[str, Any]:
    """With the linear kernel."""
    section = solo_like("SOLO", "DecoupledSOLOHead", pos_scale=0.2)
    return section | {"test_cfg": MATRIX_NMS | {"kernel": "linear"}}


def solov2() -> dict[str, Any]:
    features = {"feat_channels": WIDTH, "start_level": 0, "end_level": 3, "out_channels": 8, "mask_stride": 4}
    features |= {"norm_cfg": GROUPS}
    return solo_like("SOLOv2", "SOLOV2Head", mask_feature_head=features, dynamic_conv_size=1)


ATTENTION = {"embed_dims": 32, "num_heads": 4, "dropout": 0.0, "batch_first": True}
FFN = {"embed_dims": 32, "feedforward_channels": 32, "num_fcs": 2, "ffn_drop": 0.0}


def of_queries(kind: str, head: str, decoder: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Two decoder layers."""
    background = {"type": "CrossEntropyLoss", "use_sigmoid": False, "class_weight": [1.0] * CLASSES + [0.1]}
    layer = {"self_attn_cfg": ATTENTION, "cross_attn_cfg": ATTENTION, "ffn_cfg": FFN}
    return {
        "type": kind,
        "data_preprocessor": data_preprocessor(),
        "backbone": backbone(0),
        "panoptic_head": {
            "type": head,
            "in_channels": [8, 16, 32, 64],
            "feat_channels": 32,
            "out_channels": 32,
            "num_things_classes": CLASSES,
            "num_stuff_classes": 0,
            "num_queries": 12,
            "pixel_decoder": decoder,
            "positional_encoding": {"num_feats": 16, "normalize": True},
            "transformer_decoder": {"num_layers": 2, "layer_cfg": layer, "return_intermediate": True},
            "loss_cls": background,
            "loss_mask": {"type": "FocalLoss", "use_sigmoid": True},
            "loss_dice": {"type": "DiceLoss"},
            **options,
        },
        "panoptic_fusion_head": {
            "type": "MaskFormerFusionHead",
            "num_things_classes": CLASSES,
            "num_stuff_classes": 0,
        },
        "train_cfg": None,
        "test_cfg": {"panoptic_on": False, "instance_on": True, "max_per_image": SLOTS},
    }


def maskformer() -> dict[str, Any]:
    encoder = {"num_layers": 1, "layer_cfg": {"self_attn_cfg": ATTENTION, "ffn_cfg": FFN}}
    decoder = {
        "type": "TransformerEncoderPixelDecoder",
        "norm_cfg": GROUPS,
        "act_cfg": {"type": "ReLU"},
        "encoder": encoder,
        "positional_encoding": {"num_feats": 16, "normalize": True},
    }
    return of_queries("MaskFormer", "MaskFormerHead", decoder)


def mask2former() -> dict[str, Any]:
    sampled = {"embed_dims": 32, "num_heads": 4, "num_levels": 3, "num_points": 2, "batch_first": True}
    encoder = {"num_layers": 1, "layer_cfg": {"self_attn_cfg": sampled, "ffn_cfg": FFN}}
    decoder = {
        "type": "MSDeformAttnPixelDecoder",
        "num_outs": 3,
        "norm_cfg": GROUPS,
        "act_cfg": {"type": "ReLU"},
        "encoder": encoder,
        "positional_encoding": {"num_feats": 16, "normalize": True},
    }
    options = {"strides": [4, 8, 16, 32], "num_transformer_feat_level": 3}
    return of_queries("Mask2Former", "Mask2FormerHead", decoder, **options)
