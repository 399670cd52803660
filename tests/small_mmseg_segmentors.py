"""Small models of mmsegmentation, as its users configure them."""

from typing import Any

from tests.small_mmdet.whole_masks import mask2former, maskformer
from tests.zoo.codebases.small_configs import BACKBONE, HEAD, LOSS, MODEL, NORM, PREPROCESSOR

BASIC = {"num_branches": 2, "block": "BASIC", "num_blocks": (1, 1), "num_channels": (4, 8)}
STAGES = {
    "stage1": {"num_modules": 1, "num_branches": 1, "block": "BOTTLENECK", "num_blocks": (1,), "num_channels": (4,)},
    "stage2": {"num_modules": 1, **BASIC},
    "stage3": {"num_modules": 1, **BASIC, "num_branches": 3, "num_blocks": (1,) * 3, "num_channels": (4, 8, 16)},
    "stage4": {"num_modules": 1, **BASIC, "num_branches": 4, "num_blocks": (1,) * 4, "num_channels": (4, 8, 16, 32)},
}
HRNET = {"type": "HRNet", "norm_cfg": NORM, "extra": STAGES}
JOINED = {**HEAD, "in_channels": [4, 8, 16, 32], "in_index": (0, 1, 2, 3), "input_transform": "resize_concat"}
OCR = {
    key: value
    for key, value in {**JOINED, "type": "OCRHead", "ocr_channels": 8}.items()
    if key not in ("num_convs", "concat_input")
}
OF_ONE = {key: value for key, value in HEAD.items() if key not in ("num_convs", "concat_input")}
UNET = {"type": "UNet", "base_channels": 4, "norm_cfg": NORM, "num_stages": 3, "strides": (1, 1, 1)}
UNET |= {"enc_num_convs": (1, 1, 1), "dec_num_convs": (1, 1), "downsamples": (True, True), "enc_dilations": (1, 1, 1)}
UNET |= {"dec_dilations": (1, 1), "norm_eval": False}


def model(backbone: dict[str, Any], head: Any, **changes: Any) -> dict[str, Any]:
    """A section `model`."""
    section = {key: value for key, value in MODEL.items() if key not in ("auxiliary_head", "pretrained")}
    return {**section, "data_preprocessor": PREPROCESSOR, "backbone": backbone, "decode_head": head, **changes}


MODELS: dict[str, dict[str, Any]] = {
    "hrnet-fcn": model(HRNET, {**JOINED, "kernel_size": 1, "concat_input": False}),
    "hrnet-ocr": model(HRNET, [{**JOINED, "concat_input": False}, OCR], type="CascadeEncoderDecoder", num_stages=2),
    "unet-fcn": model(UNET, {**HEAD, "in_channels": 4, "in_index": 2, "channels": 4}),
    "nonlocal": model(BACKBONE, {**OF_ONE, "type": "NLHead", "reduction": 2, "use_scale": True, "mode": "dot_product"}),
    "danet": model(BACKBONE, {**OF_ONE, "type": "DAHead", "pam_channels": 4}),
}
SLIDE = {"mode": "slide", "crop_size": (48, 48), "stride": (32, 32)}
RESNEXT = {**BACKBONE, "type": "ResNeXt", "depth": 50, "groups": 2, "base_width": 4}
UPDATE = {"type": "KernelUpdateHead", "num_classes": 3, "num_ffn_fcs": 2, "num_heads": 2, "num_mask_fcs": 1}
UPDATE |= {"feedforward_channels": 16, "in_channels": 8, "out_channels": 8, "dropout": 0.0, "conv_kernel_size": 1}
UPDATE |= {"ffn_act_cfg": {"type": "ReLU", "inplace": True}, "with_ffn": True}
UPDATE |= {"feat_transform_cfg": {"conv_cfg": {"type": "Conv2d"}, "act_cfg": None}}
UPDATE["kernel_updator_cfg"] = {"type": "KernelUpdator", "in_channels": 4, "feat_channels": 4, "out_channels": 4}
UPDATE["kernel_updator_cfg"] |= {"act_cfg": {"type": "ReLU", "inplace": True}, "norm_cfg": {"type": "LN"}}
KNET = {
    "type": "IterativeDecodeHead",
    "num_stages": 2,
    "kernel_update_head": [UPDATE] * 2,
    "kernel_generate_head": HEAD,
}
POINTS = {"type": "PointHead", "in_channels": [8], "in_index": [0], "channels": 8, "num_fcs": 2, "num_classes": 3}
POINTS |= {"coarse_pred_each_layer": True, "dropout_ratio": -1, "align_corners": False, "loss_decode": LOSS}
COARSE = {
    **OF_ONE,
    "type": "FPNHead",
    "in_channels": [8] * 4,
    "in_index": [0, 1, 2, 3],
    "feature_strides": [4, 8, 8, 8],
}
RENDERED = {"subdivision_steps": 2, "subdivision_num_points": 200, "scale_factor": 2}
UNTRANSLATED: dict[str, dict[str, Any]] = {
    "knet": model(BACKBONE, KNET),
    "pointrend": model(
        BACKBONE,
        [COARSE, POINTS],
        neck={"type": "FPN", "in_channels": [8, 16, 32, 64], "out_channels": 8, "num_outs": 4},
        type="CascadeEncoderDecoder",
        num_stages=2,
        test_cfg={"mode": "whole", **RENDERED},
    ),
    "resnext-fcn": model(RESNEXT, {**HEAD, "in_channels": 256}),
    "unet-deconvolved": model(
        {**UNET, "upsample_cfg": {"type": "DeconvModule"}}, {**HEAD, "in_channels": 4, "in_index": 2}
    ),
}
"""Those that zooport's own parts do not cover."""


def of_queries(section: dict[str, Any]) -> dict[str, Any]:
    """A model of mmdetection for instances as mmsegmentation configures it for classes."""
    head = {key: value for key, value in section["panoptic_head"].items() if key not in ("type", *COUNTS)}
    for key in ("pixel_decoder", "loss_cls", "loss_mask", "loss_dice"):
        head[key] = {**head[key], "type": f"mmdet.{head[key]['type']}"}
    head["loss_cls"]["class_weight"] = [1.0] * CLASSES + [0.1]
    head |= {"type": section["panoptic_head"]["type"], "num_classes": CLASSES, "align_corners": False}
    return model(section["backbone"], head)


COUNTS = ("num_things_classes", "num_stuff_classes")
CLASSES = HEAD["num_classes"]
OF_MMDET = {"maskformer": of_queries(maskformer()), "mask2former": of_queries(mask2former())}
"""Those whose heads are made of mmdetection's."""
