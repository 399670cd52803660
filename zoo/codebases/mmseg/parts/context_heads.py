"""The decode heads that relate each place of a map to the others."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, UnknownPartError, part
from zoo.codebases.mmseg.parts.decode_heads import shared

ONE = (None, "resize_concat")
SEVERAL = "multiple_select"
MODES = ("embedded_gaussian", "dot_product")


def _head(keys: Keys, transforms: tuple[str | None, ...], *options: str) -> dict[str, Any]:
    """What every head takes, and these keys, which zooport calls as mmseg does."""
    keys.expect_batch_norm()
    return {"type": keys.kind, **shared(keys, *transforms), **keys.taken(*options)}


@part("decode_head", "NLHead", "DNLHead", "GCHead", "CCHead")
def block_head(keys: Keys) -> dict[str, Any]:
    """Around a block; `concat_input` is on in mmseg where nothing is said."""
    keys.expect("num_convs", 2)
    own = {
        "NLHead": ("reduction", "mode", "use_scale"),
        "DNLHead": ("reduction", "mode", "use_scale", "temperature"),
        "GCHead": ("ratio", "pooling_type", "fusion_types"),
        "CCHead": ("recurrence",),
    }
    head = _head(keys, ONE, *own[keys.kind], "kernel_size", "dilation")
    if (mode := head.get("mode", MODES[0])) not in MODES:
        raise UnknownPartError(f"{keys.where}: mode is {mode!r}, and zooport's own has {' or '.join(MODES)}")
    return {**head, "concat_input": keys.take("concat_input", True)}


@part("decode_head", "DAHead", "ISAHead", "EMAHead", "PSAHead", "APCHead", "DMHead")
def head_of_one_map(keys: Keys) -> dict[str, Any]:
    """Of one map."""
    own = {
        "DAHead": ("pam_channels",),
        "ISAHead": ("isa_channels", "down_factor"),
        "EMAHead": ("ema_channels", "num_bases", "num_stages", "momentum", "concat_input"),
        "PSAHead": ("mask_size", "psa_type", "compact", "shrink_factor", "normalization_factor", "psa_softmax"),
        "APCHead": ("pool_scales", "fusion"),
        "DMHead": ("filter_sizes", "fusion"),
    }
    return _head(keys, ONE, *own[keys.kind])


@part("decode_head", "ANNHead")
def ann_head(keys: Keys) -> dict[str, Any]:
    """Of two maps."""
    keys.expect("query_scales", (1,))
    return _head(keys, (SEVERAL,), "project_channels", "key_pool_scales")


@part("decode_head", "EncHead")
def enc_head(keys: Keys) -> dict[str, Any]:
    """Of several maps; the loss of the encoding is for training."""
    for key in ("use_se_loss", "loss_se_decode"):
        keys.take(key, None)
    return _head(keys, (SEVERAL,), "num_codes", "add_lateral")


@part("cascade_head", "OCRHead")
def ocr_head(keys: Keys) -> dict[str, Any]:
    """After another head."""
    keys.expect("scale", 1)
    return _head(keys, ONE, "ocr_channels")
