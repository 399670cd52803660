"""ResNet, ResNetV1c and ResNetV1d."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, part

STAGES = (0, 1, 2, 3)
BN = {"type": "BN"}


@part("backbone", "ResNet")
def resnet(keys: Keys) -> dict[str, Any]:
    """By its own keys."""
    return _resnet(keys, deep_stem=bool(keys.take("deep_stem", False)), avg_down=bool(keys.take("avg_down", False)))


@part("backbone", "ResNetV1c")
def resnet_v1c(keys: Keys) -> dict[str, Any]:
    """Three convolutions as a stem."""
    return _resnet(keys, deep_stem=True, avg_down=False)


@part("backbone", "ResNetV1d")
def resnet_v1d(keys: Keys) -> dict[str, Any]:
    """The same, and shortcuts that average."""
    return _resnet(keys, deep_stem=True, avg_down=True)


@part("backbone", "ResNeSt")
def resnest(keys: Keys) -> dict[str, Any]:
    """A ResNetV1d whose blocks have split attention, in one group."""
    keys.expect("groups", 1)
    keys.expect("base_width", 4)
    own = {"radix": keys.take("radix", 2), "reduction": keys.take("reduction_factor", 4)}
    own |= keys.taken("avg_down_stride")
    return {**_resnet(keys, deep_stem=False, avg_down=False), "type": "ResNeSt", **own}


def _resnet(keys: Keys, *, deep_stem: bool, avg_down: bool) -> dict[str, Any]:
    keys.expect("in_channels", 3)
    keys.expect("num_stages", len(STAGES))
    keys.expect("style", "pytorch")
    for key in ("conv_cfg", "dcn", "plugins"):
        keys.expect(key, None)
    keys.expect("stage_with_dcn", (False,) * 4)
    keys.expect_batch_norm(default=BN)
    flags = {"deep_stem": deep_stem, "avg_down": avg_down, "contract_dilation": keys.take("contract_dilation", False)}
    return {
        "type": "ResNet",
        "depth": keys.take("depth"),
        **keys.taken("base_channels", "stem_channels", "strides", "dilations", "out_indices", "multi_grid"),
        **{name: True for name, on in flags.items() if on},
    }
