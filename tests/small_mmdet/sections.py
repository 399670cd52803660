"""What the sections `model` of the small detectors share."""

from typing import Any

CLASSES = 5
SLOTS = 20
SIDES = (64, 96)
WIDTH = 16  # channels of a neck and a head
NORMAL = {"type": "BN"}
GROUPS = {"type": "GN", "num_groups": 4}
DELTAS = {"type": "DeltaXYWHBBoxCoder", "target_means": [0.0] * 4, "target_stds": [0.1, 0.1, 0.2, 0.2]}
LOSSES = {
    "loss_cls": {"type": "FocalLoss", "use_sigmoid": True},
    "loss_bbox": {"type": "L1Loss"},
}
TEST = {
    "nms_pre": 60,
    "min_bbox_size": 0,
    "score_thr": 0.05,
    "nms": {"type": "nms", "iou_threshold": 0.5},
    "max_per_img": SLOTS,
}
STRIDES = [8, 16, 32]
SWIN = {
    "type": "SwinTransformer",
    "embed_dims": 8,
    "depths": [2, 2, 2, 2],
    "num_heads": [1, 2, 4, 8],
    "window_size": 3,  # so that every level of the small images has several windows
    "out_indices": (0, 1, 2, 3),
}


def data_preprocessor(**options: Any) -> dict[str, Any]:
    return {
        "type": "DetDataPreprocessor",
        "mean": [123.675, 116.28, 103.53],
        "std": [58.395, 57.12, 57.375],
        "bgr_to_rgb": True,
        "pad_size_divisor": 32,
    } | options


def backbone(first: int = 1) -> dict[str, Any]:
    """A narrow ResNet-18, whose maps have the strides 4, 8, 16 and 32; those from number `first` on."""
    return {
        "type": "ResNet",
        "depth": 18,
        "base_channels": 8,
        "num_stages": 4,
        "out_indices": tuple(range(first, 4)),
        "norm_cfg": NORMAL,
        "style": "pytorch",
        "init_cfg": {"type": "Pretrained", "checkpoint": "https://nowhere.invalid/resnet18.pth"},
    }


def neck(first: int = 1, outputs: int = 3) -> dict[str, Any]:
    channels = [8, 16, 32, 64][first:]
    return {"type": "FPN", "in_channels": channels, "out_channels": WIDTH, "num_outs": outputs}
