"""The Swin Transformer."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, UnknownPartError, part
from zoo.codebases.values import LIST


@part("backbone", "SwinTransformer")
def swin_transformer(keys: Keys) -> dict[str, Any]:
    """Each stage halves the map; the norms have the usual eps."""
    keys.expect("in_channels", 3)
    keys.expect("qk_scale", None)
    keys.expect("patch_norm", True)
    keys.expect("use_abs_pos_embed", False)
    keys.expect_activation("GELU")
    keys.expect_layer_norm(1e-5)
    for key in ("drop_path_rate", "pretrain_img_size"):  # for training, and for positions
        keys.take(key, None)
    patch, strides = keys.take("patch_size", 4), keys.take("strides", (4, 2, 2, 2), LIST)
    if strides[0] != patch or any(stride != 2 for stride in strides[1:]):  # noqa: PLR2004
        raise UnknownPartError(f"{keys.where}: strides is {strides}, and zooport's own has {patch}, then 2")
    sizes = ("embed_dims", "window_size", "mlp_ratio", "depths", "num_heads", "out_indices", "qkv_bias")
    return {"type": "SwinTransformer", "patch_size": patch, **keys.taken(*sizes)}
