"""HRNet."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, part
from zoo.codebases.values import LIST


@part("backbone", "HRNet")
def hrnet(keys: Keys) -> dict[str, Any]:
    """mmseg's `extra` has a dict for each of four stages."""
    keys.expect("in_channels", 3)
    keys.expect("conv_cfg", None)
    keys.expect("multiscale_output", True)
    keys.expect_batch_norm(default={"type": "BN"})
    extra = keys.section("extra")
    stages = tuple(_stage(extra.section(f"stage{number}")) for number in range(1, 5))
    extra.close()
    return {"type": "HRNet", "stages": stages}


def _stage(keys: Keys) -> dict[str, Any]:
    stage = {
        "num_modules": keys.take("num_modules"),
        "block": keys.take("block"),
        "num_blocks": keys.take("num_blocks"),
        "num_channels": keys.take("num_channels", kind=LIST),
    }
    keys.expect("num_branches", len(stage["num_channels"]))
    keys.close()
    return stage
