"""Small segmentors as mmsegmentation's users configure them, all of whose parts zooport has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from tests.small_mmseg_segmentors import HRNET, JOINED, OCR, OF_ONE, UNET, model
from tests.zoo.codebases.small_configs import BACKBONE, HEAD, LOSS, NORM, config_content
from zoo.build import build_section
from zoo.codebases import CodebaseConfig
from zoo.codebases.mmseg.segmentor import segmentor_of

CLASSES = 4
FCN = {**HEAD, "concat_input": False}
PSP = {**OF_ONE, "type": "PSPHead", "pool_scales": (1, 2)}
WIDTHS = (8, 16, 32, 64)
R50 = {**BACKBONE, "depth": 50, "base_channels": 4, "stem_channels": 4, "dilations": (1, 1, 1, 2)}
UNDILATED = {**BACKBONE, "strides": (1, 2, 2, 2), "dilations": (1, 1, 1, 1)}
ICNET = {
    "type": "ICNet",
    "backbone_cfg": BACKBONE,
    "layer_channels": (16, 64),
    "light_branch_middle_channels": 4,
    "psp_out_channels": 8,
    "out_channels": (4, 8, 8),
    "pool_scales": (1, 2),
    "norm_cfg": NORM,
    "align_corners": False,
}
IC_NECK = {"type": "ICNeck", "in_channels": (4, 8, 8), "out_channels": 8, "norm_cfg": NORM, "align_corners": False}
BISENET = {
    "type": "BiSeNetV1",
    "in_channels": 3,
    "context_channels": (8, 16, 32),
    "spatial_channels": (4, 4, 4, 8),
    "out_indices": (0, 1, 2),
    "out_channels": 16,
    "backbone_cfg": {**UNDILATED, "type": "ResNet", "base_channels": 4, "stem_channels": 4},
    "norm_cfg": NORM,
    "align_corners": False,
}
JPU = {"type": "JPU", "in_channels": WIDTHS[1:], "mid_channels": 8, "start_level": 0, "end_level": -1}
JPU |= {"dilations": (1, 2), "align_corners": False, "norm_cfg": NORM}


def of_one(kind: str, **options: Any) -> dict[str, Any]:
    """A head of the last map of a dilated ResNet."""
    return model(BACKBONE, {**OF_ONE, "type": kind, **options})


def of_several(kind: str, count: int, **options: Any) -> dict[str, Any]:
    """A head of the last `count` maps."""
    maps = {"in_channels": WIDTHS[-count:], "in_index": tuple(range(4 - count, 4))}
    return model(BACKBONE, {**OF_ONE, "type": kind, **maps, **options})


VIT = {"type": "VisionTransformer", "img_size": (64, 96), "patch_size": 16, "embed_dims": 16, "num_layers": 3}
VIT |= {"num_heads": 2, "mlp_ratio": 2, "norm_cfg": {"type": "LN", "eps": 1e-6}, "interpolate_mode": "bicubic"}
OF_ALL = {**OF_ONE, "in_channels": (8, 8), "in_index": (0, 1)}
MULTI_LEVEL = {"type": "MultiLevelNeck", "in_channels": [16, 16], "out_channels": 8, "scales": [2, 0.5]}
MLA = {"type": "MLANeck", "in_channels": [16, 16], "out_channels": 8, "norm_cfg": NORM, "act_cfg": {"type": "ReLU"}}
SEGMENTER = {"type": "SegmenterMaskTransformerHead", "in_channels": 16, "channels": 16, "num_classes": 3}
SEGMENTER |= {"num_layers": 2, "num_heads": 2, "embed_dims": 16, "loss_decode": LOSS}
SWIN = {"type": "SwinTransformer", "embed_dims": 8, "window_size": 5, "depths": [2, 2], "num_heads": [2, 2]}
SWIN |= {"strides": (4, 2), "out_indices": (0, 1), "norm_cfg": {"type": "LN"}}
FAST_SCNN = {"type": "FastSCNN", "downsample_dw_channels": (4, 6), "global_in_channels": 8}
FAST_SCNN |= {"global_block_channels": (8, 8, 16), "global_out_channels": 16, "higher_in_channels": 8}
FAST_SCNN |= {"lower_in_channels": 16, "fusion_out_channels": 16, "norm_cfg": NORM}
STDC = {"type": "STDCNet", "stdc_type": "STDCNet1", "in_channels": 3, "channels": (4, 8, 16, 32, 64)}
STDC |= {"bottleneck_type": "cat", "num_convs": 4, "norm_cfg": NORM, "act_cfg": {"type": "ReLU"}}
CONTEXT = {"type": "STDCContextPathNet", "backbone_cfg": STDC, "last_in_channels": (64, 32), "out_channels": 8}
CONTEXT |= {"ffm_cfg": {"in_channels": 24, "out_channels": 16, "scale_factor": 4}}
CGNET_NORM = {"type": "SyncBN", "eps": 1e-3, "requires_grad": True}
CGNET = {
    "type": "CGNet",
    "norm_cfg": CGNET_NORM,
    "num_channels": (8, 8, 16),
    "num_blocks": (2, 3),
    "reductions": (2, 4),
}
ERFNET = {"type": "ERFNet", "enc_downsample_channels": (4, 8, 16), "enc_stage_non_bottlenecks": (1, 2)}
ERFNET |= {"enc_non_bottleneck_dilations": (2, 4), "enc_non_bottleneck_channels": (8, 16)}
ERFNET |= {"dec_upsample_channels": (8, 4), "dec_stages_non_bottleneck": (1, 1), "dec_non_bottleneck_channels": (8, 4)}
DDRNET = {"type": "DDRNet", "in_channels": 3, "channels": 4, "ppm_channels": 8, "norm_cfg": NORM}
PIDNET = {"type": "PIDNet", "in_channels": 3, "channels": 4, "ppm_channels": 8, "num_stem_blocks": 2}
PIDNET |= {"num_branch_blocks": 3, "norm_cfg": NORM, "act_cfg": {"type": "ReLU", "inplace": True}}
LARGER = {**PIDNET, "num_stem_blocks": 3, "num_branch_blocks": 4}
BRANCH = {"in_channels": 16, "channels": 8, "num_classes": 3, "align_corners": True, "loss_decode": LOSS}
BRANCH |= {"norm_cfg": {"type": "BN"}, "act_cfg": {"type": "ReLU", "inplace": True}}
TWINS = {"embed_dims": [4, 8], "patch_sizes": [4, 2], "strides": [4, 2], "num_heads": [1, 2], "mlp_ratios": [2, 2]}
TWINS |= {"depths": [2, 2], "sr_ratios": [2, 1], "out_indices": (0, 1), "qkv_bias": True, "norm_cfg": {"type": "LN"}}
OF_TWINS = {**OF_ALL, "type": "UPerHead", "in_channels": (4, 8), "pool_scales": (1, 2)}
RESNEST = {
    **R50,
    "type": "ResNeSt",
    "radix": 2,
    "reduction_factor": 4,
    "avg_down_stride": True,
    "strides": (1, 2, 2, 1),
}
PSA = {"mask_size": (5, 7), "compact": False, "shrink_factor": 2, "normalization_factor": 1.0, "psa_softmax": True}
COMPACT = {**PSA, "mask_size": (4, 6), "compact": True, "normalization_factor": None, "psa_softmax": False}
TRANSLATED: dict[str, dict[str, Any]] = {
    "hrnet-fcn": model(HRNET, {**JOINED, "kernel_size": 1, "concat_input": False}),
    "hrnet-ocr": model(HRNET, [{**JOINED, "concat_input": False}, OCR], type="CascadeEncoderDecoder", num_stages=2),
    "unet-fcn": model(UNET, {**HEAD, "in_channels": 4, "in_index": 2, "channels": 4}),
    "nl": of_one("NLHead", reduction=2, use_scale=True, mode="embedded_gaussian"),
    "nl-dot-product": of_one("NLHead", reduction=2, use_scale=False, mode="dot_product"),
    "dnl": of_one("DNLHead", reduction=2, use_scale=True, mode="embedded_gaussian"),
    "gc": of_one("GCHead", ratio=1 / 4.0, pooling_type="att", fusion_types=("channel_add",)),
    "gc-average": of_one("GCHead", ratio=0.5, pooling_type="avg", fusion_types=("channel_mul", "channel_add")),
    "cc": of_one("CCHead", recurrence=2),
    "da": of_one("DAHead", pam_channels=4),
    "isa": of_one("ISAHead", isa_channels=4, down_factor=(3, 5)),
    "ann": of_several("ANNHead", 2, project_channels=4, query_scales=(1,), key_pool_scales=(1, 3)),
    "psa": of_one("PSAHead", psa_type="bi-direction", **PSA),
    "psa-collect": of_one("PSAHead", psa_type="collect", **COMPACT),
    "ema": of_one("EMAHead", ema_channels=8, num_bases=4, num_stages=3, momentum=0.1),
    "enc": of_several("EncHead", 3, num_codes=4, use_se_loss=True, add_lateral=False),
    "enc-lateral": of_several("EncHead", 3, num_codes=4, use_se_loss=False, add_lateral=True),
    "apc": of_one("APCHead", pool_scales=(1, 2)),
    "dm": of_one("DMHead", filter_sizes=(1, 2, 3)),
    "icnet": model(ICNET, {**FCN, "in_channels": 8, "in_index": 2}, neck=IC_NECK),
    "bisenet-v1": model(BISENET, {**FCN, "in_channels": 16, "in_index": 0}),
    "fastfcn": model({**UNDILATED, "out_indices": (1, 2, 3)}, {**PSP, "in_channels": 16, "in_index": 2}, neck=JPU),
    "vit-uper": model(
        {**VIT, "out_indices": (0, 2)}, {**OF_ALL, "type": "UPerHead", "pool_scales": (1, 2)}, neck=MULTI_LEVEL
    ),
    "setr-up": model(
        {**VIT, "out_indices": (1, 2), "interpolate_mode": "bilinear"},
        {**OF_ONE, "type": "SETRUPHead", "in_channels": 16, "in_index": 1, "num_convs": 2, "up_scale": 2},
    ),
    "setr-mla": model(
        {**VIT, "out_indices": (0, 2), "with_cls_token": False, "patch_bias": True},
        {**OF_ALL, "type": "SETRMLAHead", "mla_channels": 4},
        neck=MLA,
    ),
    "segmenter": model({**VIT, "final_norm": True, "num_layers": 2}, SEGMENTER),
    "swin-uper": model(SWIN, {**OF_ALL, "type": "UPerHead", "in_channels": (8, 16), "pool_scales": (1, 2)}),
    "mobilenet-v2": model(
        {"type": "MobileNetV2", "widen_factor": 0.25, "dilations": (1, 1, 1, 2, 2, 4, 4), "norm_cfg": NORM}
        | {"strides": (1, 2, 2, 1, 1, 1, 1)},
        {**FCN, "in_channels": 80},
    ),
    "fpn": model(
        UNDILATED,
        {**OF_ONE, "type": "FPNHead", "in_channels": (8,) * 4, "in_index": (0, 1, 2, 3)}
        | {"feature_strides": [4, 8, 16, 32]},
        neck={"type": "FPN", "in_channels": list(WIDTHS), "out_channels": 8, "num_outs": 4},
    ),
    "fast-scnn": model(
        FAST_SCNN, {**FCN, "type": "DepthwiseSeparableFCNHead", "in_channels": 16, "in_index": -1, "num_convs": 2}
    ),
    "stdc": model(CONTEXT, {**FCN, "in_channels": 16, "align_corners": True}),
    "cgnet": model(CGNET, {**FCN, "in_channels": 32, "channels": 32, "num_convs": 0, "in_index": 2, "norm_cfg": NORM}),
    "erfnet": model(ERFNET, {**FCN, "in_channels": 4, "in_index": -1}),
    "ddrnet": model(DDRNET, {**BRANCH, "type": "DDRHead"}),
    "pidnet": model(PIDNET, {**BRANCH, "type": "PIDHead"}),
    "pidnet-larger": model(LARGER, {**BRANCH, "type": "PIDHead"}),
    "pcpvt-uper": model({**TWINS, "type": "PCPVT"}, OF_TWINS),
    "svt-uper": model({**TWINS, "type": "SVT", "windiow_sizes": [5, 5]}, OF_TWINS),
    "resnest": model(RESNEST, {**FCN, "in_channels": 128}),
    "multi-grid": model({**R50, "multi_grid": (1, 2, 4)}, {**FCN, "in_channels": 128}),
}

OF_ONE_SIZE = ("psa-collect",)
"""Those whose masks have the size of the map."""
BY_THE_SIZE = ("psa", *OF_ONE_SIZE)
"""Those that do something else for another size: a file of theirs has one."""

START_AT_ZERO = ("gamma.scale", "pos_embed", "cls_token", "relative_position_bias_table")


def with_classes(section: Mapping[str, Any]) -> dict[str, Any]:
    """A section `model`, all of whose heads have CLASSES classes."""
    heads = section["decode_head"]
    is_one = isinstance(heads, Mapping)
    counted = [{**head, "num_classes": CLASSES} for head in ([heads] if is_one else heads)]
    return {**section, "decode_head": counted[0] if is_one else counted}


def mmseg_section(name: str, **changes: Any) -> dict[str, Any]:
    """The section `model` of mmsegmentation."""
    return {**with_classes(TRANSLATED[name]), **changes}


def translated(name: str, **changes: Any) -> Any:
    """What zooport makes of it, in eval mode, with random weights."""
    config = CodebaseConfig(Path("my.py"), config_content(mmseg_section(name, **changes)))
    return build_section(segmentor_of(config)).eval()


def in_use(model: nn.Module) -> nn.Module:
    """With random numbers for what begins with zeros."""
    for name, parameter in model.named_parameters():
        if name.endswith(START_AT_ZERO):
            nn.init.normal_(parameter)
    return model
