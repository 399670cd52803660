"""Backbones around a ResNet: BiSeNetV1 and ICNet."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, UnknownPartError, part, translated
from zoo.codebases.values import SECTION

BN = {"type": "BN"}


@part("backbone", "BiSeNetV1")
def bisenet_v1(keys: Keys) -> dict[str, Any]:
    """Batch norms of BiSeNetV1 itself are plain ones, whatever its `norm_cfg`; nothing of it aligns corners."""
    keys.expect("in_channels", 3)
    keys.expect("out_indices", (0, 1, 2))
    keys.expect("conv_cfg", None)
    keys.expect_batch_norm(default=BN)
    keys.expect_activation("ReLU")
    keys.take("align_corners", False)
    options = keys.taken("spatial_channels", "context_channels", "out_channels")
    return {"type": "BiSeNetV1", "backbone": translated("backbone", keys.take("backbone_cfg", kind=SECTION)), **options}


@part("backbone", "ICNet")
def icnet(keys: Keys) -> dict[str, Any]:
    """Its ResNet has a deep stem."""
    keys.expect("in_channels", 3)
    keys.expect("conv_cfg", None)
    keys.expect_batch_norm(default=BN)
    keys.expect_activation("ReLU")
    backbone = translated("backbone", keys.take("backbone_cfg", kind=SECTION))
    if not backbone.get("deep_stem"):
        raise UnknownPartError(f"{keys.where}: backbone_cfg without a deep stem, which zooport's own needs")
    widths = ("layer_channels", "light_branch_middle_channels", "psp_out_channels", "out_channels")
    return {"type": "ICNet", "backbone": backbone, **keys.taken(*widths, "pool_scales", "align_corners")}
