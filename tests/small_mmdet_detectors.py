"""Detectors of mmdetection, small: the section `model` of each, and live random weights."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from zoo.calibration import learn_statistics

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


def mapper(first: int, channels: int, norm: Any = None) -> dict[str, Any]:
    inputs = [8, 16, 32, 64][first:]
    return {
        "type": "ChannelMapper",
        "in_channels": inputs,
        "kernel_size": 1,
        "out_channels": channels,
        "act_cfg": None,
        "norm_cfg": norm,
        "num_outs": len(inputs),
    }


def transformer(kind: str, width: int, head: Mapping[str, Any], first: int, **options: Any) -> dict[str, Any]:
    """One encoder layer and two decoder layers."""
    attention = {"embed_dims": width, "num_heads": 4, "dropout": 0.1, "batch_first": True}
    sampled = {"embed_dims": width, "num_heads": 4, "num_levels": 4 - first, "num_points": 2, "batch_first": True}
    plain = kind == "DETR"
    ffn = {"embed_dims": width, "feedforward_channels": 32, "num_fcs": 2, "ffn_drop": 0.1}
    decoder = {"self_attn_cfg": attention, "cross_attn_cfg": attention if plain else sampled, "ffn_cfg": ffn}
    return {
        "type": kind,
        "num_queries": 12,
        "data_preprocessor": data_preprocessor(),
        "backbone": backbone(first),
        "neck": mapper(first, width, None if plain else GROUPS),
        "encoder": {"num_layers": 1, "layer_cfg": {"self_attn_cfg": attention if plain else sampled, "ffn_cfg": ffn}},
        "decoder": {"num_layers": 2, "layer_cfg": decoder, "return_intermediate": True}
        | ({} if plain else {"post_norm_cfg": None}),
        "positional_encoding": {"num_feats": width // 2, "normalize": True},
        "bbox_head": {
            "num_classes": CLASSES,
            "loss_bbox": {"type": "L1Loss"},
            "loss_iou": {"type": "GIoULoss"},
            **head,
        },
        "train_cfg": None,
        "test_cfg": {"max_per_img": 10},
    } | options


def detr() -> dict[str, Any]:
    loss = {"type": "CrossEntropyLoss", "bg_cls_weight": 0.1, "use_sigmoid": False, "class_weight": 1.0}
    return transformer("DETR", 32, {"type": "DETRHead", "embed_dims": 32, "loss_cls": loss}, 3)


def deformable_detr() -> dict[str, Any]:
    head = {"type": "DeformableDETRHead", "embed_dims": 32, "loss_cls": LOSSES["loss_cls"]}
    return transformer("DeformableDETR", 32, head, 1, num_feature_levels=3, with_box_refine=True)


def dino() -> dict[str, Any]:
    """256 channels: the encoding of its places has them, whatever the config says."""
    head = {"type": "DINOHead", "embed_dims": 256, "loss_cls": LOSSES["loss_cls"]}
    options = {"num_feature_levels": 3, "with_box_refine": True, "as_two_stage": True}
    noise = {"label_noise_scale": 0.5, "box_noise_scale": 1.0}
    groups = {"dynamic": True, "num_groups": None, "num_dn_queries": 4}
    return transformer("DINO", 256, head, 1, dn_cfg={**noise, "group_cfg": groups}, **options)


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


def cascade_mask_rcnn() -> dict[str, Any]:
    section = cascade_rcnn()
    masks = {"mask_roi_extractor": extractor(14), "mask_head": [mask_head() for _ in range(3)]}
    section["roi_head"] |= masks
    section["test_cfg"]["rcnn"]["mask_thr_binary"] = 0.5
    return section


SECTIONS: Mapping[str, Callable[[], dict[str, Any]]] = {
    one.__name__: one
    for one in (
        *(retinanet, fcos, atss, gfl, paa, fovea, vfnet, reppoints, rtmdet, yolox, yolov3, ssd),
        *(faster_rcnn, faster_rcnn_dcn, cascade_rcnn),
        *(detr, deformable_detr, dino),
    )
}

WITH_MASKS: Mapping[str, Callable[[], dict[str, Any]]] = {one.__name__: one for one in (mask_rcnn, cascade_mask_rcnn)}

SPREAD: Mapping[str, tuple[float, float]] = {
    "rpn_cls": (0.0, 1.5),
    "rpn_reg": (0.0, 0.3),
    "retina_cls": (-3.0, 1.5),
    "retina_reg": (0.0, 1.0),
    "conv_cls": (-3.0, 1.5),
    "conv_reg": (2.5, 0.5),
    "conv_centerness": (0.0, 1.0),
    "atss_cls": (-3.0, 1.5),
    "atss_reg": (0.0, 1.0),
    "atss_centerness": (0.0, 1.0),
    "gfl_cls": (-3.0, 1.5),
    "gfl_reg": (0.0, 1.0),
    "vfnet_reg": (0.0, 0.3),
    "vfnet_cls": (-3.0, 1.5),
    "reppoints_cls_out": (-3.0, 1.5),
    "reppoints_pts_init_out": (0.0, 1.0),
    "reppoints_pts_refine_out": (0.0, 1.0),
    "rtm_cls": (-3.0, 1.5),
    "rtm_reg": (0.7, 0.5),
    "multi_level_conv_cls": (-1.0, 1.5),
    "multi_level_conv_reg": (0.5, 0.3),
    "multi_level_conv_obj": (0.0, 1.5),
    "convs_pred": (-0.5, 1.5),
    "cls_convs": (0.0, 1.5),  # SSD's
    "reg_convs": (0.0, 1.0),
    "fc_cls": (0.0, 2.0),
    "fc_reg": (0.0, 1.0),
    "conv_logits": (0.0, 2.0),
    "cls_branches": (-1.0, 1.5),
    "reg_branches": (0.0, 1.0),
}
"""Layers that decide, by a part of their name, and the mean and deviation that their outputs get, one after another."""


def byte_images(count: int, first: int = 0) -> Tensor:
    """uint8 [N, 3, *SIDES], RGB: soft shapes with noise, so that an image has places that differ.

    `count` of four, from number `first` on: the weights are made for these, as narrow random networks turn others into
    scores that are all 0 or 1.
    """
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(4, 3, 6, 8, generator=generator)
    shapes = torch.nn.functional.interpolate(coarse, SIDES, mode="bicubic", align_corners=False)
    noise = torch.rand(4, 3, *SIDES, generator=generator) * 0.2
    return ((shapes + noise).clamp(0, 1) * 255).round().to(torch.uint8)[first : first + count]


def small(name: str, seed: int = 0) -> Any:
    """The MmdetDetector of SECTIONS, whose batch norms have the statistics of its images, and whose scores differ."""
    from zoo.models.mmdet import MmdetDetector

    torch.manual_seed(seed)
    detector = MmdetDetector({**SECTIONS, **WITH_MASKS}[name](), detections_per_img=SLOTS)
    images = byte_images(4) / 255
    learn_statistics(detector, lambda: detector(images), passes=2)
    for part, (mean, std) in SPREAD.items():
        _spread(detector, part, mean, std, images)
    return detector.eval()


def _spread(detector: Any, part: str, mean: float, std: float, images: Tensor) -> None:
    layers = [
        layer
        for path, layer in detector.named_modules()
        if f".{part}" in path and isinstance(layer, torch.nn.Conv2d | torch.nn.Linear) and layer.bias is not None
    ]
    for layer in {id(layer.weight): layer for layer in layers}.values():
        seen: list[Tensor] = []
        hook = layer.register_forward_hook(lambda _layer, _inputs, output, seen=seen: seen.append(output.flatten()))
        with torch.no_grad():
            detector(images)
            hook.remove()
            if seen and (values := torch.cat(seen)).numel():
                scale = std / values.std()
                layer.bias.copy_((layer.bias - values.mean()) * scale + mean)
                layer.weight.mul_(scale)


def own_results(detector: Any, images: Tensor, sizes: list[tuple[int, int]] | None = None) -> list[Any]:
    """What mmdetection itself finds in byte images [N, 3, H, W], RGB, or in their parts of these sizes (h, w)."""
    from mmdet.structures import DetDataSample

    sizes = sizes or [tuple(images.shape[-2:])] * len(images)
    data = {"inputs": [], "data_samples": []}
    for image, (height, width) in zip(images, sizes, strict=True):
        data["inputs"].append(image.flip(0)[:, :height, :width])  # mmdetection reads BGR
        meta = {"ori_shape": (height, width), "img_shape": (height, width), "scale_factor": (1.0, 1.0)}
        data["data_samples"].append(DetDataSample(metainfo=meta))
    with torch.no_grad():
        data = detector.model.data_preprocessor(data, False)
        results = detector.model.predict(data["inputs"], data["data_samples"], rescale=False)
    return [result.pred_instances for result in results]
