"""The detectors themselves, with live random weights, and what mmdetection finds by them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tests.small_mmdet.sections import CLASSES, SIDES, SLOTS
from tests.small_mmdet.single_stage import (
    atss,
    centernet,
    fcos,
    fovea,
    fsaf,
    gfl,
    paa,
    reppoints,
    retinanet,
    retinanet_swin,
    rtmdet,
    ssd,
    vfnet,
    yolov3,
    yolox,
)
from tests.small_mmdet.transformers import deformable_detr, detr, dino
from tests.small_mmdet.two_stage import (
    cascade_mask_rcnn,
    cascade_rcnn,
    faster_rcnn,
    faster_rcnn_dcn,
    mask_rcnn,
    mask_rcnn_swin,
)
from tests.small_mmdet.whole_masks import decoupled_solo, mask2former, maskformer, solo, solov2
from zoo.random_weights import learn_statistics

SECTIONS: Mapping[str, Callable[[], dict[str, Any]]] = {
    one.__name__: one
    for one in (
        *(retinanet, retinanet_swin, fsaf, fcos, atss, gfl, paa, fovea, vfnet, reppoints, rtmdet, yolox, yolov3, ssd),
        centernet,
        *(faster_rcnn, faster_rcnn_dcn, cascade_rcnn),
        *(detr, deformable_detr, dino),
    )
}

WITH_MASKS: Mapping[str, Callable[[], dict[str, Any]]] = {
    one.__name__: one for one in (mask_rcnn, mask_rcnn_swin, cascade_mask_rcnn)
}
WITH_WHOLE_MASKS: Mapping[str, Callable[[], dict[str, Any]]] = {
    one.__name__: one for one in (solo, decoupled_solo, solov2, maskformer, mask2former)
}

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
    "heatmap_head": (-2.0, 1.5),
    "wh_head": (3.0, 1.0),
    "offset_head": (0.5, 0.2),
    "fc_cls": (0.0, 2.0),
    "fc_reg": (0.0, 1.0),
    "conv_logits": (0.0, 2.0),
    "cls_branches": (-1.0, 1.5),
    "reg_branches": (0.0, 1.0),
    "mask_head.conv_cls": (-1.5, 1.5),
    "mask_head.conv_mask_list": (0.0, 2.0),
    "mask_head.conv_kernel": (0.0, 1.0),
    "panoptic_head.cls_embed": (0.0, 2.0),
}
"""Layers that decide, by a part of their name, and the mean and deviation that their outputs get, one after another."""
OTHER_SPREAD: Mapping[str, Mapping[str, tuple[float, float]]] = {"fsaf": {"retina_reg": (1.0, 0.5)}}
"""What differs of some: FSAF's distances are not below 0."""
CALM = {"yolov3": ("convs_pred", 5 + CLASSES, (2, 3), 0.3)}
"""Outputs that are exponents: layer, outputs of an anchor, which of them, and the factor that makes them smaller."""


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


def resized(images: Tensor, size: tuple[int, int]) -> Tensor:
    """Byte images at another (h, w)."""
    return torch.nn.functional.interpolate(images.float(), size, mode="bilinear").round().to(torch.uint8)


def small(name: str, seed: int = 0, sizes: Sequence[tuple[int, int]] = (SIDES,)) -> Any:
    """The detector of SECTIONS, whose batch norms have the statistics of its images, and whose scores differ.

    `sizes`: of the images; at another one all scores of a narrow network may be 1.
    """
    from zoo.models.mmdet import MmdetDetector, MmdetInstanceSegmentor

    torch.manual_seed(seed)
    kind = MmdetInstanceSegmentor if name in WITH_WHOLE_MASKS else MmdetDetector
    detector = kind({**SECTIONS, **WITH_MASKS, **WITH_WHOLE_MASKS}[name](), detections_per_img=SLOTS)
    for path, parameter in detector.named_parameters():
        if path.endswith("level_embed"):  # which mmdetection leaves as memory has it until init_weights
            torch.nn.init.normal_(parameter)
    images = [resized(byte_images(4), size) / 255 for size in sizes]
    learn_statistics(detector, lambda: [detector(batch) for batch in images], passes=2)
    for part, (mean, std) in {**SPREAD, **OTHER_SPREAD.get(name, {})}.items():
        _spread(detector, part, mean, std, images)
    if name in CALM:
        _calm(detector, *CALM[name])
    return detector.eval()


def _calm(detector: Any, part: str, outputs: int, places: tuple[int, ...], factor: float) -> None:
    for path, layer in detector.named_modules():
        if f".{part}" in path and isinstance(layer, torch.nn.Conv2d):
            rows = [row for row in range(layer.out_channels) if row % outputs in places]
            with torch.no_grad():
                layer.weight[rows] *= factor
                layer.bias[rows] *= factor


def _spread(detector: Any, part: str, mean: float, std: float, images: Sequence[Tensor]) -> None:
    layers = [
        layer
        for path, layer in detector.named_modules()
        if f".{part}" in path and isinstance(layer, torch.nn.Conv2d | torch.nn.Linear) and layer.bias is not None
    ]
    for layer in {id(layer.weight): layer for layer in layers}.values():
        seen: list[Tensor] = []
        hook = layer.register_forward_hook(lambda _layer, _inputs, output, seen=seen: seen.append(output.flatten()))
        with torch.no_grad():
            for batch in images:
                detector(batch)
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
        meta["border"] = (0, 0, 0, 0)
        data["data_samples"].append(DetDataSample(metainfo=meta))
    with torch.no_grad():
        data = detector.model.data_preprocessor(data, False)
        results = detector.model.predict(data["inputs"], data["data_samples"], rescale=False)
    return [result.pred_instances for result in results]
