"""ConvNeXt, which mmseg takes from mmpretrain."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, UnknownPartError, part
from zoo.codebases.values import LIST, NUMBER, SECTION, TEXT, Kind

SIZES = ("depths", "channels")
ARCHITECTURES = {
    "atto": ((2, 2, 6, 2), (40, 80, 160, 320)),
    "femto": ((2, 2, 6, 2), (48, 96, 192, 384)),
    "pico": ((2, 2, 6, 2), (64, 128, 256, 512)),
    "nano": ((2, 2, 8, 2), (80, 160, 320, 640)),
    "tiny": ((3, 3, 9, 3), (96, 192, 384, 768)),
    "small": ((3, 3, 27, 3), (96, 192, 384, 768)),
    "base": ((3, 3, 27, 3), (128, 256, 512, 1024)),
    "large": ((3, 3, 27, 3), (192, 384, 768, 1536)),
    "xlarge": ((3, 3, 27, 3), (256, 512, 1024, 2048)),
    "huge": ((3, 3, 27, 3), (352, 704, 1408, 2816)),
}
ARCHITECTURE = Kind(
    "a name, or a dict of depths and channels",
    lambda value: TEXT.fits(value) or (SECTION.fits(value) and all(LIST.fits(value.get(key)) for key in SIZES)),
)


@part("backbone", "ConvNeXt")
def convnext(keys: Keys) -> dict[str, Any]:
    """`arch`: a name, or depths and channels."""
    arch = keys.take("arch", "tiny", ARCHITECTURE)
    depths, channels = ARCHITECTURES.get(arch, (None, None)) if isinstance(arch, str) else _own(arch)
    if depths is None or channels is None:
        raise UnknownPartError(f"{keys.where}: arch is {arch!r}, and zooport knows {', '.join(ARCHITECTURES)}")
    keys.expect("in_channels", 3)
    keys.expect("stem_patch_size", 4)
    keys.expect("linear_pw_conv", True)
    keys.expect("use_grn", False)
    if keys.take("out_indices", -1) != (0, 1, 2, 3) or keys.take("gap_before_final_norm", True):
        raise UnknownPartError(f"{keys.where}: expected out_indices (0, 1, 2, 3) and gap_before_final_norm=False")
    if keys.take("layer_scale_init_value", 1e-6, NUMBER) <= 0:
        raise UnknownPartError(f"{keys.where}: without layer_scale, which zooport's own has")
    keys.expect_activation("GELU")
    keys.expect_layer_norm(1e-6, "LN2d")
    keys.take("drop_path_rate", None)  # for training
    return {"type": "ConvNeXt", "depths": depths, "channels": channels}


def _own(arch: Any) -> tuple[Any, Any]:
    depths, channels = (tuple(arch[key]) for key in SIZES)
    return depths, channels
