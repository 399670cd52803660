"""The rows of the comparison with mmdeploy, by name: detectors of tests.small_mmdet, and segmentors."""

from collections.abc import Mapping
from typing import Any

from tests.small_mmseg_segmentors import OF_ONE, SLIDE, model
from tests.zoo.codebases.small_configs import BACKBONE, HEAD, NORM

TOOLS = ("zooport dynamo", "zooport torchscript", "onedl-mmdeploy", "mmdeploy")
PEERS = TOOLS[2:]
PEER = "ZOOPORT_MMDEPLOY"
"""The environment variable with the folder of --peer, for the processes of the cells."""
HELPERS = "helpers"
"""The folder of what both peers import, beside theirs in that folder."""
PASSED, WRONG, REFUSED = "passed", "wrong", "refused"
VERDICTS = (PASSED, WRONG, REFUSED)

MIT = {"type": "MixVisionTransformer", "embed_dims": 8, "num_layers": (1, 1, 1, 1), "num_heads": (1, 2, 5, 8)}
WHOLE = {"mode": "whole"}
FCN = model(BACKBONE, HEAD)
PSP = model(BACKBONE, {**OF_ONE, "type": "PSPHead", "pool_scales": (1, 2, 3, 6)})
DEEPLAB = model(
    BACKBONE,
    {
        **OF_ONE,
        "type": "DepthwiseSeparableASPPHead",
        "dilations": (1, 2, 3),
        "c1_in_channels": 8,
        "c1_channels": 6,
    },
)
UPER = model(
    {**BACKBONE, "strides": (1, 2, 2, 2), "dilations": (1, 1, 1, 1)},
    {
        **OF_ONE,
        "type": "UPerHead",
        "in_channels": (8, 16, 32, 64),
        "in_index": (0, 1, 2, 3),
        "pool_scales": (1, 2, 3, 6),
    },
)
SEGFORMER = model(
    MIT,
    {
        **OF_ONE,
        "type": "SegformerHead",
        "in_channels": (8, 16, 40, 64),
        "in_index": (0, 1, 2, 3),
        "norm_cfg": NORM,
    },
)
DETECTORS = (
    *("retinanet", "fcos", "atss", "gfl", "rtmdet", "yolox", "yolov3", "ssd"),
    *("faster_rcnn", "cascade_rcnn", "mask_rcnn", "detr"),
)
SEGMENTORS: Mapping[str, Mapping[str, Any]] = {
    f"{name}, {mode['mode']}": {**section, "test_cfg": mode}
    for name, section, modes in (
        ("fcn", FCN, (WHOLE, SLIDE)),
        ("pspnet", PSP, (WHOLE, SLIDE)),
        ("deeplabv3+", DEEPLAB, (WHOLE, SLIDE)),
        ("upernet", UPER, (WHOLE,)),
        ("segformer", SEGFORMER, (WHOLE, SLIDE)),
    )
    for mode in modes
}
NAMES = (*DETECTORS, *SEGMENTORS)
