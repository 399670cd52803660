"""U-Net."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, UnknownPartError, part
from zoo.codebases.values import LIST


@part("backbone", "UNet")
def unet(keys: Keys) -> dict[str, Any]:
    """The decoder enlarges its maps by resizing them."""
    keys.expect("in_channels", 3)
    for key in ("conv_cfg", "dcn", "plugins"):
        keys.expect(key, None)
    keys.expect_batch_norm(default={"type": "BN"})
    keys.expect_activation("ReLU")
    keys.expect("upsample_cfg", {"type": "InterpConv"})
    stages, strides = keys.take("num_stages", 5), keys.take("strides", (1,) * 5, LIST)
    lists = ("enc_num_convs", "dec_num_convs", "downsamples", "enc_dilations", "dec_dilations")
    options = keys.taken("base_channels", *lists)
    if stages != len(strides):
        raise UnknownPartError(f"{keys.where}: num_stages is {stages}, and strides has another number of stages")
    return {"type": "UNet", "strides": strides, **options}
