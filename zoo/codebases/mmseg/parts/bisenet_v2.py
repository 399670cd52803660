"""BiSeNetV2."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, part
from zoo.codebases.values import LIST


@part("backbone", "BiSeNetV2")
def bisenet_v2(keys: Keys) -> dict[str, Any]:
    """The aggregation has the channels of the branches."""
    keys.expect("in_channels", 3)
    detail = keys.take("detail_channels", (64, 64, 128), LIST)
    keys.expect("bga_channels", detail[-1])
    keys.expect("out_indices", (0, 1, 2, 3, 4))
    keys.expect("conv_cfg", None)
    keys.expect_batch_norm(default={"type": "BN"})
    keys.expect_activation("ReLU")
    return {
        "type": "BiSeNetV2",
        "detail_channels": detail,
        **keys.taken("semantic_channels", "semantic_expansion_ratio", "align_corners"),
    }
