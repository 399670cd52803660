"""The Twins."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, UnknownPartError, part


@part("backbone", "PCPVT")
def pcpvt(keys: Keys) -> dict[str, Any]:
    """Attention to smaller maps."""
    return {"type": "PCPVT", **_shared(keys, norm_after_stage=False)}


@part("backbone", "SVT")
def svt(keys: Keys) -> dict[str, Any]:
    """Attention within windows as well; mmseg spells their key like this."""
    own = {} if (sizes := keys.take("windiow_sizes", None)) is None else {"window_sizes": sizes}
    return {"type": "SVT", **_shared(keys, norm_after_stage=True), **own}


def _shared(keys: Keys, *, norm_after_stage: bool) -> dict[str, Any]:
    """Patches do not overlap; the norms have the usual eps."""
    keys.expect("in_channels", 3)
    keys.expect_layer_norm(1e-5)
    keys.take("drop_path_rate", None)  # for training
    patches, strides = keys.take("patch_sizes", (4, 2, 2, 2)), keys.take("strides", (4, 2, 2, 2))
    if patches != strides:
        raise UnknownPartError(f"{keys.where}: strides is {strides}, and zooport's own has those of patch_sizes")
    sizes = ("embed_dims", "num_heads", "mlp_ratios", "depths", "sr_ratios", "out_indices", "qkv_bias")
    norm = keys.take("norm_after_stage", norm_after_stage)
    return {"patch_sizes": patches, "norm_after_stage": norm, **keys.taken(*sizes)}
