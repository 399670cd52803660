"""Detectors of one stage."""

from collections.abc import Mapping
from typing import Any

from tests.small_mmdet.sections import (
    CLASSES,
    DELTAS,
    GROUPS,
    LOSSES,
    NORMAL,
    SLOTS,
    STRIDES,
    SWIN,
    TEST,
    WIDTH,
    backbone,
    data_preprocessor,
    neck,
)


def single_stage(kind: str, head: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "data_preprocessor": data_preprocessor(),
        "backbone": backbone(),
        "neck": neck(),
        "bbox_head": {"num_classes": CLASSES, "in_channels": WIDTH, **head},
        "train_cfg": None,
        "test_cfg": TEST,
    } | options


def anchor_head(kind: str, ratios: list[float], *, octaves: int = 1, **options: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "feat_channels": WIDTH,
        "stacked_convs": 1,
        "anchor_generator": {
            "type": "AnchorGenerator",
            "octave_base_scale": 4,
            "scales_per_octave": octaves,
            "ratios": ratios,
            "strides": STRIDES,
        },
        "bbox_coder": DELTAS,
        **LOSSES,
    } | options


def points() -> dict[str, Any]:
    return {"type": "MlvlPointGenerator", "offset": 0, "strides": STRIDES}


def retinanet() -> dict[str, Any]:
    return single_stage("RetinaNet", anchor_head("RetinaHead", [0.5, 1.0, 2.0], octaves=2))


def retinanet_swin() -> dict[str, Any]:
    section = retinanet()
    channels = [2 * SWIN["embed_dims"], 4 * SWIN["embed_dims"], 8 * SWIN["embed_dims"]]
    return section | {"backbone": SWIN | {"out_indices": (1, 2, 3)}, "neck": neck() | {"in_channels": channels}}


def fsaf() -> dict[str, Any]:
    head = {
        "type": "FSAFHead",
        "feat_channels": WIDTH,
        "stacked_convs": 1,
        "reg_decoded_bbox": True,
        "anchor_generator": {
            "type": "AnchorGenerator",
            "octave_base_scale": 1,
            "scales_per_octave": 1,
            "ratios": [1.0],
            "strides": STRIDES,
        },
        "bbox_coder": {"type": "TBLRBBoxCoder", "normalizer": 4.0},
        "loss_cls": {"type": "FocalLoss", "use_sigmoid": True, "reduction": "none"},
        "loss_bbox": {"type": "IoULoss", "reduction": "none"},
    }
    return single_stage("FSAF", head)


def centernet() -> dict[str, Any]:
    head = {
        "type": "CenterNetHead",
        "num_classes": CLASSES,
        "in_channels": WIDTH,
        "feat_channels": WIDTH,
        "loss_center_heatmap": {"type": "GaussianFocalLoss"},
        "loss_wh": {"type": "L1Loss"},
        "loss_offset": {"type": "L1Loss"},
    }
    upwards = {"num_deconv_filters": (32, WIDTH, WIDTH), "num_deconv_kernels": (4, 4, 4), "use_dcn": False}
    test = {"topk": SLOTS, "local_maximum_kernel": 3, "max_per_img": SLOTS}
    options = {"backbone": backbone(3), "neck": {"type": "CTResNetNeck", "in_channels": 64, **upwards}}
    return single_stage("CenterNet", head, **options, test_cfg=test)


def fcos() -> dict[str, Any]:
    head = {
        "type": "FCOSHead",
        "feat_channels": WIDTH,
        "stacked_convs": 1,
        "strides": STRIDES,
        "regress_ranges": ((-1, 32), (32, 64), (64, 1e8)),
        "norm_cfg": GROUPS,
    }
    return single_stage("FCOS", head, data_preprocessor=data_preprocessor(bgr_to_rgb=False, std=[1.0, 1.0, 1.0]))


def atss() -> dict[str, Any]:
    return single_stage("ATSS", anchor_head("ATSSHead", [1.0], norm_cfg=GROUPS))


def gfl() -> dict[str, Any]:
    losses = {
        "loss_cls": {"type": "QualityFocalLoss", "use_sigmoid": True},
        "loss_dfl": {"type": "DistributionFocalLoss"},
        "loss_bbox": {"type": "GIoULoss"},
        "bbox_coder": {"type": "DistancePointBBoxCoder"},
        "reg_max": 7,
    }
    return single_stage("GFL", anchor_head("GFLHead", [1.0], norm_cfg=GROUPS, **losses))


def paa() -> dict[str, Any]:
    return single_stage("PAA", anchor_head("PAAHead", [1.0], norm_cfg=GROUPS, score_voting=True))


def fovea() -> dict[str, Any]:
    head = {
        "type": "FoveaHead",
        "feat_channels": WIDTH,
        "stacked_convs": 1,
        "strides": STRIDES,
        "base_edge_list": [12, 24, 48],
        "scale_ranges": ((1, 16), (16, 32), (32, 64)),
    }
    return single_stage("FOVEA", head)


def vfnet() -> dict[str, Any]:
    """With deformable convolutions."""
    head = {
        "type": "VFNetHead",
        "feat_channels": WIDTH,
        "stacked_convs": 1,
        "strides": STRIDES,
        "regress_ranges": ((-1, 32), (32, 64), (64, 1e8)),
        "use_atss": False,
        "anchor_generator": {
            "type": "AnchorGenerator",
            "ratios": [1.0],
            "octave_base_scale": 8,
            "scales_per_octave": 1,
            "center_offset": 0.0,
            "strides": STRIDES,
        },
        "norm_cfg": GROUPS,
        "loss_cls": {"type": "VarifocalLoss", "use_sigmoid": True},
    }
    return single_stage("VFNet", head)


def reppoints() -> dict[str, Any]:
    """With deformable convolutions."""
    head = {
        "type": "RepPointsHead",
        "feat_channels": WIDTH,
        "point_feat_channels": WIDTH,
        "stacked_convs": 1,
        "point_strides": STRIDES,
        "norm_cfg": GROUPS,
    }
    return single_stage("RepPointsDetector", head)


def rtmdet() -> dict[str, Any]:
    head = {
        "type": "RTMDetSepBNHead",
        "feat_channels": WIDTH,
        "stacked_convs": 1,
        "anchor_generator": points(),
        "bbox_coder": {"type": "DistancePointBBoxCoder"},
        "loss_cls": {"type": "QualityFocalLoss", "use_sigmoid": True},
        "loss_bbox": {"type": "GIoULoss"},
        "with_objectness": False,
        "exp_on_reg": True,
        "norm_cfg": NORMAL,
    }
    return single_stage(
        "RTMDet",
        head,
        backbone={
            "type": "CSPNeXt",
            "arch": "P5",
            "deepen_factor": 0.167,
            "widen_factor": 0.125,
            "out_indices": (2, 3, 4),
            "norm_cfg": NORMAL,
            "act_cfg": {"type": "SiLU"},
        },
        neck={
            "type": "CSPNeXtPAFPN",
            "in_channels": [32, 64, 128],
            "out_channels": WIDTH,
            "num_csp_blocks": 1,
            "norm_cfg": NORMAL,
            "act_cfg": {"type": "SiLU"},
        },
        data_preprocessor=data_preprocessor(
            mean=[103.53, 116.28, 123.675], std=[57.375, 57.12, 58.395], bgr_to_rgb=False
        ),
        test_cfg=TEST | {"nms_pre": 200},
    )


def yolox() -> dict[str, Any]:
    return {
        "type": "YOLOX",
        "data_preprocessor": {"type": "DetDataPreprocessor", "pad_size_divisor": 32},
        "backbone": {"type": "CSPDarknet", "deepen_factor": 0.33, "widen_factor": 0.125},
        "neck": {"type": "YOLOXPAFPN", "in_channels": [32, 64, 128], "out_channels": WIDTH, "num_csp_blocks": 1},
        "bbox_head": {
            "type": "YOLOXHead",
            "num_classes": CLASSES,
            "in_channels": WIDTH,
            "feat_channels": WIDTH,
            "stacked_convs": 1,
        },
        "train_cfg": None,
        "test_cfg": {"score_thr": 0.01, "nms": {"type": "nms", "iou_threshold": 0.65}},
    }


def yolov3() -> dict[str, Any]:
    return {
        "type": "YOLOV3",
        "data_preprocessor": data_preprocessor(mean=[0.0] * 3, std=[255.0] * 3),
        "backbone": backbone(),
        "neck": {"type": "YOLOV3Neck", "num_scales": 3, "in_channels": [64, 32, 16], "out_channels": [32, 16, 8]},
        "bbox_head": {
            "type": "YOLOV3Head",
            "num_classes": CLASSES,
            "in_channels": [32, 16, 8],
            "out_channels": [32, 16, 8],
            "anchor_generator": {
                "type": "YOLOAnchorGenerator",
                "base_sizes": [[(40, 30), (60, 50)], [(24, 20), (16, 30)], [(10, 8), (12, 16)]],
                "strides": [32, 16, 8],
            },
            "bbox_coder": {"type": "YOLOBBoxCoder"},
            "featmap_strides": [32, 16, 8],
        },
        "train_cfg": None,
        "test_cfg": TEST | {"conf_thr": 0.2, "nms_pre": 100},
    }


def ssd() -> dict[str, Any]:
    head = {
        "type": "SSDHead",
        "in_channels": (WIDTH,) * 3,
        "anchor_generator": {
            "type": "SSDAnchorGenerator",
            "scale_major": False,
            "min_sizes": [12, 24, 40],
            "max_sizes": [24, 40, 64],
            "strides": STRIDES,
            "ratios": [[2], [2, 3], [2]],
        },
        "bbox_coder": DELTAS,
    }
    return single_stage("SingleStageDetector", head)
