"""Detectors that take crops of proposals, and those with masks."""

from collections.abc import Mapping
from typing import Any

from tests.small_mmdet.sections import CLASSES, DELTAS, SLOTS, SWIN, WIDTH, backbone, data_preprocessor, neck


def two_stage(kind: str, roi_head: Mapping[str, Any], **rcnn: Any) -> dict[str, Any]:
    proposals = {"nms_pre": 60, "max_per_img": 40, "nms": {"type": "nms", "iou_threshold": 0.7}, "min_bbox_size": 0}
    decisions = {"score_thr": 0.05, "nms": {"type": "nms", "iou_threshold": 0.5}, "max_per_img": SLOTS}
    return {
        "type": kind,
        "data_preprocessor": data_preprocessor(),
        "backbone": backbone(0),
        "neck": neck(0, 4),
        "rpn_head": {
            "type": "RPNHead",
            "in_channels": WIDTH,
            "feat_channels": WIDTH,
            "anchor_generator": {
                "type": "AnchorGenerator",
                "scales": [4],
                "ratios": [0.5, 1.0, 2.0],
                "strides": [4, 8, 16, 32],
            },
            "bbox_coder": {"type": "DeltaXYWHBBoxCoder"},
            "loss_cls": {"type": "CrossEntropyLoss", "use_sigmoid": True},
            "loss_bbox": {"type": "L1Loss"},
        },
        "roi_head": roi_head,
        "train_cfg": None,
        "test_cfg": {"rpn": proposals, "rcnn": decisions | rcnn},
    }


def extractor(size: int, ratio: int = 0) -> dict[str, Any]:
    return {
        "type": "SingleRoIExtractor",
        "roi_layer": {"type": "RoIAlign", "output_size": size, "sampling_ratio": ratio},
        "out_channels": WIDTH,
        "featmap_strides": [4, 8, 16],
        "finest_scale": 16,
    }


def box_head(*, agnostic: bool = False) -> dict[str, Any]:
    return {
        "type": "Shared2FCBBoxHead",
        "in_channels": WIDTH,
        "fc_out_channels": 32,
        "roi_feat_size": 5,
        "num_classes": CLASSES,
        "bbox_coder": DELTAS,
        "reg_class_agnostic": agnostic,
        "loss_cls": {"type": "CrossEntropyLoss", "use_sigmoid": False},
        "loss_bbox": {"type": "L1Loss"},
    }


def faster_rcnn() -> dict[str, Any]:
    head = {"type": "StandardRoIHead", "bbox_roi_extractor": extractor(5), "bbox_head": box_head()}
    return two_stage("FasterRCNN", head)


def faster_rcnn_dcn() -> dict[str, Any]:
    """With modulated deformable convolutions in the backbone."""
    section = faster_rcnn()
    section["neck"]["in_channels"] = [16, 32, 64, 128]
    section["backbone"] |= {
        "depth": 50,  # no smaller one has them
        "base_channels": 4,
        "dcn": {"type": "DCNv2", "deform_groups": 1, "fallback_on_stride": False},
        "stage_with_dcn": (False, False, True, True),
    }
    return section


def cascade_rcnn() -> dict[str, Any]:
    head = {
        "type": "CascadeRoIHead",
        "num_stages": 3,
        "stage_loss_weights": [1, 0.5, 0.25],
        "bbox_roi_extractor": extractor(5),
        "bbox_head": [box_head(agnostic=True) for _ in range(3)],
    }
    return two_stage("CascadeRCNN", head)


def mask_head() -> dict[str, Any]:
    return {
        "type": "FCNMaskHead",
        "num_convs": 1,
        "in_channels": WIDTH,
        "conv_out_channels": WIDTH,
        "num_classes": CLASSES,
        "loss_mask": {"type": "CrossEntropyLoss", "use_mask": True},
    }


def mask_rcnn() -> dict[str, Any]:
    head = {
        "type": "StandardRoIHead",
        "bbox_roi_extractor": extractor(5),
        "bbox_head": box_head(),
        "mask_roi_extractor": extractor(14),
        "mask_head": mask_head(),
    }
    return two_stage("MaskRCNN", head, mask_thr_binary=0.5)


def mask_rcnn_swin() -> dict[str, Any]:
    section = mask_rcnn()
    channels = [SWIN["embed_dims"] * 2**stage for stage in range(4)]
    return section | {"backbone": SWIN, "neck": neck(0, 4) | {"in_channels": channels}}


def cascade_mask_rcnn() -> dict[str, Any]:
    section = cascade_rcnn()
    masks = {"mask_roi_extractor": extractor(14), "mask_head": [mask_head() for _ in range(3)]}
    section["roi_head"] |= masks
    section["test_cfg"]["rcnn"]["mask_thr_binary"] = 0.5
    return section
