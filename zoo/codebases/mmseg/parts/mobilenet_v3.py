"""MobileNetV3."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, part


@part("backbone", "MobileNetV3")
def mobilenet_v3(keys: Keys) -> dict[str, Any]:
    """The eps of its batch norms is its own argument."""
    keys.expect("conv_cfg", None)
    keys.expect("reduction_factor", 1)
    return {
        "type": "MobileNetV3",
        "arch": keys.take("arch", "small"),
        "out_indices": keys.take("out_indices", (0, 1, 12)),
        "norm_eps": keys.batch_norm_eps(default={"type": "BN"}),
    }
