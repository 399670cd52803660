"""The Vision Transformer, and the necks and heads that were made for it."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, UnknownPartError, part
from zoo.codebases.mmseg.parts.decode_heads import shared
from zoo.codebases.values import COUNT

LN = {"type": "LN"}
SETR_NORM = {"type": "LN", "eps": 1e-6}


@part("backbone", "VisionTransformer")
def vision_transformer(keys: Keys) -> dict[str, Any]:
    """Its last layer's map alone, where nothing is said of `out_indices`."""
    keys.expect("in_channels", 3)
    keys.expect("patch_pad", "corner")
    keys.expect("num_fcs", 2)
    for key in ("out_origin", "output_cls_token", "patch_norm", "pre_norm"):
        keys.expect(key, False)
    keys.expect_activation("GELU")
    for key in ("drop_path_rate", "frozen_exclude"):  # for training
        keys.take(key, None)
    size, layers, last = keys.take("img_size", 224), keys.take("num_layers", 12, COUNT), keys.take("out_indices", -1)
    if isinstance(last, int):
        last = (layers - 1 if last == -1 else last,)
    widths = ("patch_size", "embed_dims", "num_heads", "mlp_ratio", "interpolate_mode")
    flags = ("qkv_bias", "patch_bias", "final_norm", "with_cls_token")
    return {
        "type": "VisionTransformer",
        "img_size": (size, size) if isinstance(size, int) else size,
        "num_layers": layers,
        "out_indices": last,
        "norm_eps": keys.layer_norm_eps(default=LN),
        **keys.taken(*widths, *flags),
    }


@part("neck", "MultiLevelNeck")
def multi_level_neck(keys: Keys) -> dict[str, Any]:
    """Without norms and activations."""
    keys.expect("norm_cfg", None)
    keys.expect("act_cfg", None)
    scales = keys.take("scales", (0.5, 1, 2, 4))
    return {"type": "MultiLevelNeck", **keys.taken("in_channels", "out_channels"), "scales": scales}


@part("neck", "MLANeck")
def mla_neck(keys: Keys) -> dict[str, Any]:
    """With norms and activations, which mmseg has only if they are configured."""
    keys.expect_batch_norm()
    if (keys.optional_section("act_cfg") or {}).get("type") != "ReLU":
        raise UnknownPartError(f"{keys.where}: act_cfg is no ReLU, which zooport's own has")
    eps = keys.layer_norm_eps("norm_layer", default=SETR_NORM)
    return {"type": "MLANeck", **keys.taken("in_channels", "out_channels"), "norm_eps": eps}


@part("decode_head", "SETRUPHead")
def setr_up_head(keys: Keys) -> dict[str, Any]:
    """Of one map."""
    keys.expect_batch_norm()
    head = shared(keys, None)
    eps = keys.layer_norm_eps("norm_layer", default=SETR_NORM)
    return {"type": "SETRUPHead", **head, "norm_eps": eps, **keys.taken("num_convs", "up_scale", "kernel_size")}


@part("decode_head", "SETRMLAHead")
def setr_mla_head(keys: Keys) -> dict[str, Any]:
    """Of several maps."""
    keys.expect_batch_norm()
    return {"type": "SETRMLAHead", **shared(keys, "multiple_select"), **keys.taken("mla_channels", "up_scale")}


@part("decode_head", "SegmenterMaskTransformerHead")
def segmenter_head(keys: Keys) -> dict[str, Any]:
    """Its norms are layer norms."""
    eps = keys.layer_norm_eps(default=LN)
    keys.expect("num_fcs", 2)
    keys.expect_activation("GELU")
    for key in ("drop_path_rate", "init_std"):  # for training
        keys.take(key, None)
    head = shared(keys, None)
    sizes = ("num_layers", "num_heads", "embed_dims", "mlp_ratio", "qkv_bias")
    return {"type": "SegmenterMaskTransformerHead", **head, "norm_eps": eps, **keys.taken(*sizes)}
