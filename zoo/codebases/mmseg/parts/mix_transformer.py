"""The Mix Transformer."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, part


@part("backbone", "MixVisionTransformer")
def mix_transformer(keys: Keys) -> dict[str, Any]:
    """mmseg's defaults differ from zooport's, so each argument is written."""
    keys.expect("in_channels", 3)
    keys.expect("num_stages", 4)
    keys.expect("out_indices", (0, 1, 2, 3))
    keys.expect_activation("GELU")
    keys.expect_layer_norm(1e-6)
    keys.take("drop_path_rate", None)  # for training
    return {
        "type": "MixVisionTransformer",
        "embed_dims": keys.take("embed_dims", 64),
        "num_layers": keys.take("num_layers", (3, 4, 6, 3)),
        "num_heads": keys.take("num_heads", (1, 2, 4, 8)),
        "patch_sizes": keys.take("patch_sizes", (7, 3, 3, 3)),
        "strides": keys.take("strides", (4, 2, 2, 2)),
        "sr_ratios": keys.take("sr_ratios", (8, 4, 2, 1)),
        "mlp_ratio": keys.take("mlp_ratio", 4),
        "qkv_bias": keys.take("qkv_bias", True),
    }
