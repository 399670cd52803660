"""The small backbones: MobileNetV2, Fast-SCNN, STDC, CGNet, ERFNet, DDRNet, PIDNet, and the heads of the last two."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, part, translated
from zoo.codebases.mmseg.parts.decode_heads import shared
from zoo.codebases.values import LIST, SECTION

BN = {"type": "BN"}
FAST_SCNN_DEFAULTS = {"global_in_channels": 64, "global_out_channels": 128}


def _plain(keys: Keys, activation: str = "ReLU") -> None:
    """Three channels, batch norms of the usual eps, and this activation."""
    keys.expect("in_channels", 3)
    keys.expect("conv_cfg", None)
    keys.expect_batch_norm(default=BN)
    keys.expect_activation(activation)


@part("backbone", "MobileNetV2")
def mobilenet_v2(keys: Keys) -> dict[str, Any]:
    """By its own keys."""
    _plain(keys, "ReLU6")
    return {"type": "MobileNetV2", **keys.taken("widen_factor", "strides", "dilations", "out_indices")}


@part("backbone", "FastSCNN")
def fast_scnn(keys: Keys) -> dict[str, Any]:
    """The channels between its parts are said twice in mmseg."""
    _plain(keys)
    keys.expect("dw_act_cfg", None)
    keys.expect("out_indices", (0, 1, 2))
    widths = {key: keys.take(key, default) for key, default in FAST_SCNN_DEFAULTS.items()}
    keys.expect("higher_in_channels", widths["global_in_channels"])
    keys.expect("lower_in_channels", widths["global_out_channels"])
    others = ("downsample_dw_channels", "global_block_channels", "global_block_strides", "fusion_out_channels")
    return {"type": "FastSCNN", **widths, **keys.taken(*others, "align_corners")}


@part("backbone", "STDCNet")
def stdc_net(keys: Keys) -> dict[str, Any]:
    """Its blocks concatenate."""
    _plain(keys)
    keys.expect("bottleneck_type", "cat")
    return {"type": "STDCNet", **keys.taken("stdc_type", "channels", "num_convs", "with_final_conv")}


@part("backbone", "STDCContextPathNet")
def stdc_context_path(keys: Keys) -> dict[str, Any]:
    """Around an STDCNet."""
    keys.expect_batch_norm(default=BN)
    keys.expect("upsample_mode", "nearest")
    keys.expect("align_corners", None)
    fusion = keys.section("ffm_cfg", {"in_channels": 512, "out_channels": 256})
    fusion.expect_batch_norm(default=BN)
    fusion.expect_activation("ReLU")
    sizes = {
        "fusion_in_channels": fusion.take("in_channels"),
        "fusion_out_channels": fusion.take("out_channels"),
        "fusion_factor": fusion.take("scale_factor", 4),
    }
    fusion.close()
    backbone = translated("backbone", keys.take("backbone_cfg", kind=SECTION))
    options = keys.taken("last_in_channels", "out_channels")
    return {"type": "STDCContextPathNet", "backbone": backbone, **options, **sizes}


@part("backbone", "CGNet")
def cgnet(keys: Keys) -> dict[str, Any]:
    """The eps of its batch norms is its own argument."""
    keys.expect("in_channels", 3)
    keys.expect("conv_cfg", None)
    keys.expect_activation("PReLU")
    eps = keys.batch_norm_eps(default=BN)
    return {"type": "CGNet", "norm_eps": eps, **keys.taken("num_channels", "num_blocks", "dilations", "reductions")}


@part("backbone", "ERFNet")
def erfnet(keys: Keys) -> dict[str, Any]:
    """Its norms have an eps of their own, whatever its `norm_cfg`; two of its keys say nothing new."""
    _plain(keys)
    encoder = keys.take("enc_downsample_channels", (16, 64, 128), LIST)
    decoder = keys.take("dec_non_bottleneck_channels", (64, 16), LIST)
    keys.expect("enc_non_bottleneck_channels", tuple(encoder[1:]))
    keys.expect("dec_upsample_channels", tuple(decoder))
    blocks = ("enc_stage_non_bottlenecks", "enc_non_bottleneck_dilations", "dec_stages_non_bottleneck")
    channels = {"enc_downsample_channels": encoder, "dec_non_bottleneck_channels": decoder}
    return {"type": "ERFNet", **channels, **keys.taken(*blocks)}


@part("backbone", "DDRNet")
def ddrnet(keys: Keys) -> dict[str, Any]:
    """By its own keys."""
    _plain(keys)
    return {"type": "DDRNet", **keys.taken("channels", "ppm_channels", "align_corners")}


@part("backbone", "PIDNet")
def pidnet(keys: Keys) -> dict[str, Any]:
    """By its own keys."""
    _plain(keys)
    blocks = ("num_stem_blocks", "num_branch_blocks")
    return {"type": "PIDNet", **keys.taken("channels", "ppm_channels", *blocks, "align_corners")}


@part("decode_head", "DDRHead", "PIDHead")
def branch_head(keys: Keys) -> dict[str, Any]:
    """Of one map."""
    keys.expect_batch_norm(default=BN)
    return {"type": keys.kind, **shared(keys, None)}
