"""The necks."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, part
from zoo.codebases.values import LIST

BN = {"type": "BN"}


@part("neck", "JPU")
def jpu(keys: Keys) -> dict[str, Any]:
    """Of all maps."""
    _shared(keys)
    channels = keys.take("in_channels", (512, 1024, 2048), LIST)
    keys.expect("start_level", 0)
    keys.expect("end_level", -1, len(channels))
    return {"type": "JPU", "in_channels": channels, **keys.taken("mid_channels", "dilations", "align_corners")}


@part("neck", "ICNeck")
def ic_neck(keys: Keys) -> dict[str, Any]:
    """Of three maps."""
    _shared(keys)
    channels = keys.take("in_channels", (64, 256, 256))
    return {"type": "ICNeck", "in_channels": channels, **keys.taken("out_channels", "align_corners")}


@part("neck", "FPN")
def fpn(keys: Keys) -> dict[str, Any]:
    """As many maps as there are, without norms and activations."""
    channels = keys.take("in_channels", kind=LIST)
    keys.expect("num_outs", len(channels))
    keys.expect("start_level", 0)
    keys.expect("end_level", -1, len(channels))
    for key in ("conv_cfg", "norm_cfg", "act_cfg"):
        keys.expect(key, None)
    keys.expect("upsample_cfg", {"mode": "nearest"})
    for key in ("no_norm_on_lateral", "add_extra_convs", "extra_convs_on_inputs", "relu_before_extra_convs"):
        keys.take(key, None)  # of norms and maps that there are none of
    return {"type": "FPN", "in_channels": channels, "out_channels": keys.take("out_channels")}


def _shared(keys: Keys) -> None:
    keys.expect("conv_cfg", None)
    keys.expect_batch_norm(default=BN)
    keys.expect_activation("ReLU")
