"""A small model of every architecture of the EncoderDecoder family, by its config."""

from typing import Any

import torch
from torch import nn

from tests.rewriters.small_segmentors import sample_images
from zoo.models.deformable_convolution import ModulatedDeformableConv2d
from zoo.models.residual_blocks import Bottleneck
from zoo.models.segmentation import EncoderDecoder
from zoo.registry import MODELS

CLASSES = 4
WIDTH = 4
DILATED = {"strides": (1, 2, 1, 1), "dilations": (1, 1, 2, 4)}
V1C = {"type": "ResNet", "depth": 18, "base_channels": WIDTH, "deep_stem": True, "contract_dilation": True, **DILATED}
PLAIN = {"type": "ResNet", "depth": 18, "base_channels": WIDTH}
BOTTLENECK = {**V1C, "depth": 50, "base_channels": 2}
MIT = {"type": "MixVisionTransformer", "embed_dims": WIDTH, "num_layers": (1, 1, 1, 1), "num_heads": (1, 2, 5, 8)}
CONVNEXT = {"type": "ConvNeXt", "depths": (1, 1, 2, 1), "channels": (4, 8, 16, 32)}
BISENET = {
    "type": "BiSeNetV2",
    "detail_channels": (4, 4, 8),
    "semantic_channels": (4, 4, 8, 8),
    "semantic_expansion_ratio": 2,
}
ONE = {"in_channels": 8 * WIDTH, "in_index": 3, "channels": 8, "num_classes": CLASSES}
ALL = {"in_channels": [4, 8, 16, 32], "in_index": [0, 1, 2, 3], "channels": 8, "num_classes": CLASSES}
AUXILIARY = {
    "type": "FCNHead",
    "in_channels": 4 * WIDTH,
    "in_index": 2,
    "channels": 8,
    "num_classes": CLASSES,
    "num_convs": 1,
    "loss_weight": 0.4,
}

# decode head, backbone, and what else the EncoderDecoder is given
FAMILY: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "fcn": ({"type": "FCNHead", "concat_input": True, **ONE}, V1C, {"auxiliary_head": AUXILIARY}),
    "psp": ({"type": "PSPHead", **ONE}, V1C, {}),
    "aspp": ({"type": "ASPPHead", "dilations": (1, 2, 3, 4), **ONE}, V1C, {}),
    "sep-aspp": (
        {
            "type": "DepthwiseSeparableASPPHead",
            "c1_in_channels": WIDTH,
            "c1_channels": 6,
            "dilations": (1, 2, 3),
            **ONE,
        },
        V1C,
        {},
    ),
    "uper": ({"type": "UPerHead", **ALL}, PLAIN, {}),
    "segformer": ({"type": "SegformerHead", **ALL, "in_channels": [4, 8, 20, 32]}, MIT, {}),
    "lraspp": (
        {
            "type": "LRASPPHead",
            "in_channels": (16, 16, 576),
            "in_index": (0, 1, 2),
            "channels": 8,
            "num_classes": CLASSES,
            "branch_channels": (4, 8),
            "pool_size": 3,
            "pool_stride": (2, 1),
        },
        {"type": "MobileNetV3", "arch": "small", "out_indices": (0, 1, 12)},
        {},
    ),
    "resnet-50": ({"type": "FCNHead", **ONE, "in_channels": 64}, BOTTLENECK, {}),
    "convnext": ({"type": "UPerHead", **ALL}, CONVNEXT, {}),
    "bisenet": (
        {"type": "FCNHead", "in_channels": 8, "in_index": 0, "channels": 16, "num_classes": CLASSES, "num_convs": 1},
        BISENET,
        {
            "auxiliary_head": [
                {**AUXILIARY, "in_channels": width, "in_index": index, "loss_weight": 1.0}
                for index, width in enumerate((4, 4, 8, 8), 1)
            ]
        },
    ),
}

# Those that mmseg does not have: its ResNet-18 has no deformable stages.
ZOO_ONLY: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "dcn": ({"type": "UPerHead", **ALL}, {**PLAIN, "deformable": (False, False, True, True)}, {}),
}
ARCHITECTURES = FAMILY | ZOO_ONLY


def small_encoder_decoder(
    architecture: str, seed: int = 0, *, align_corners: bool = False, **test_cfg: Any
) -> EncoderDecoder:
    """In eval mode, calibrated: batch norms have the statistics of images, each class's logits a mean of 0.

    Deformable convolutions look up to a pixel away: at ten times that, eager float32 itself is 2e-3 of the range of
    the logits from float64, as measured.
    """
    head, backbone, options = ARCHITECTURES[architecture]
    torch.manual_seed(seed)
    model: EncoderDecoder = MODELS.build(
        {
            "type": "EncoderDecoder",
            "backbone": backbone,
            "decode_head": {**head, "align_corners": align_corners},
            "test_cfg": {"mode": "whole", **test_cfg},
            **options,
        }
    )
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the plain average
        if isinstance(module, Bottleneck):  # weak branches, as trained networks have: see small_segmentors.calibrated
            nn.init.constant_(module.bn3.weight, 0.2)
        if isinstance(module, ModulatedDeformableConv2d):
            nn.init.normal_(module.conv_offset.weight, std=0.01)
    images = sample_images(4, 64, 96)
    with torch.no_grad():
        model.train()
        for _ in range(5):
            model(images)
        model.decode_head.conv_seg.bias -= model.eval()(images).mean(dim=(0, 2, 3))
    return model
