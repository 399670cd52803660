"""The decode heads, which share most of their keys."""

from typing import Any

from zoo.codebases.mmseg.part import Keys, UnknownPartError, part
from zoo.errors import InputError


def shared(keys: Keys, *transforms: str | None) -> dict[str, Any]:
    """What every head takes. `transforms`: the values of `input_transform` that the head has, its default first."""
    keys.expect("input_transform", *transforms)
    keys.expect("conv_cfg", None)
    keys.expect_activation("ReLU")
    classes = keys.take("num_classes")
    if keys.take("out_channels", None) not in (None, classes):
        raise UnknownPartError(f"{keys.where}: out_channels differs from num_classes, and zooport takes the best class")
    if classes == 1:
        raise InputError(f"{keys.where}: one output channel, which a threshold decides; zooport takes the best class")
    keys.take("threshold", None)  # of one output channel
    return {
        "in_channels": keys.take("in_channels"),
        "in_index": keys.take("in_index", -1),
        "channels": keys.take("channels"),
        "num_classes": classes,
        "align_corners": keys.take("align_corners", False),
    }


@part("decode_head", "FCNHead", "DepthwiseSeparableFCNHead")
def fcn_head(keys: Keys) -> dict[str, Any]:
    """`concat_input` is on in mmseg where nothing is said. Without any convolution there is no norm."""
    options = keys.taken("num_convs", "kernel_size", "dilation")
    options["concat_input"] = keys.take("concat_input", True)
    if options.get("num_convs") == 0 and not options["concat_input"]:
        keys.take("norm_cfg", None)
    else:
        keys.expect_batch_norm()
    if keys.kind != "FCNHead":
        keys.expect("dw_act_cfg", None)
        options.pop("dilation", None)  # mmseg's is not dilated, whatever it says
    return {"type": keys.kind, **shared(keys, None, "resize_concat"), **options}


@part("decode_head", "FPNHead")
def fpn_head(keys: Keys) -> dict[str, Any]:
    """Of all maps."""
    keys.expect_batch_norm()
    return {"type": "FPNHead", **shared(keys, "multiple_select"), **keys.taken("feature_strides")}


@part("decode_head", "PSPHead", "ASPPHead", "DepthwiseSeparableASPPHead")
def pyramid_head(keys: Keys) -> dict[str, Any]:
    """Of one map, with its scales or dilations."""
    keys.expect_batch_norm()
    head = shared(keys, None, "resize_concat")
    options = keys.taken("pool_scales" if keys.kind == "PSPHead" else "dilations")
    if keys.kind == "DepthwiseSeparableASPPHead":
        options |= {"c1_in_channels": keys.take("c1_in_channels"), "c1_channels": keys.take("c1_channels")}
        if not options["c1_in_channels"]:
            raise UnknownPartError(f"{keys.where}: c1_in_channels is 0, and zooport's own takes the first map as well")
    return {"type": keys.kind, **head, **options}


@part("decode_head", "UPerHead")
def uper_head(keys: Keys) -> dict[str, Any]:
    """Of all maps."""
    keys.expect_batch_norm()
    head = shared(keys, "multiple_select")
    return {"type": "UPerHead", **head, **keys.taken("pool_scales")}


@part("decode_head", "SegformerHead")
def segformer_head(keys: Keys) -> dict[str, Any]:
    """Of all maps, resized bilinearly."""
    keys.expect_batch_norm()
    keys.expect("interpolate_mode", "bilinear")
    return {"type": "SegformerHead", **shared(keys, "multiple_select")}


@part("decode_head", "LRASPPHead")
def lraspp_head(keys: Keys) -> dict[str, Any]:
    """The eps of its batch norms is its own argument."""
    eps = keys.batch_norm_eps()
    head = shared(keys, "multiple_select")
    return {"type": "LRASPPHead", **head, **keys.taken("branch_channels"), "norm_eps": eps}
