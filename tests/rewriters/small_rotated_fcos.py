"""A small RotatedFCOS with random weights that finds a few dozen objects."""

from typing import Any

import torch

from tests.rewriters.small_yolov5 import scenes
from zoo.families import contract_module
from zoo.models.detection.rotated_fcos import RotatedFCOS
from zoo.random_weights import learn_statistics, spread_outputs
from zoo.tasks import build_task
from zoo.tasks.contract import Contract

CLASSES, SLOTS, SIZE = 3, 40, (64, 96)
SPREAD = {"cls_logits": (-2.0, 1.5), "distances": (2.0, 1.0), "angles": (0.0, 1.5), "centerness": (0.0, 1.0)}
"""The mean and deviation of what each last layer of the head gives."""


def rotated_task(angle: str = "le90") -> Any:
    classes = [{"name": str(i), "category_id": i} for i in range(CLASSES)]
    return build_task({"type": "RotatedDetection", "classes": classes, "angle": angle})


def small_rotated_fcos(
    seed: int = 0, num_classes: int = CLASSES, *, calibrated: bool = True, **options: Any
) -> RotatedFCOS:
    """In eval mode; batch norms know random images, and the head's outputs spread."""
    torch.manual_seed(seed)
    settings = {"score_thresh": 0.5, "nms_thresh": 0.3, "topk_candidates": 60, "detections_per_img": SLOTS}
    backbone = {"base_channels": 8, "out_channels": 16, "first_stage": 2}
    heads = {"limits": (32, 64, 128), "head_convs": 1, "head_norm_groups": 4}
    model = RotatedFCOS(num_classes, backbone, **{**heads, **settings, **options}).eval()
    if calibrated:
        images = scenes(8, 64, 96, seed=100)
        learn_statistics(model, lambda: model.backbone(images), passes=1)
        with torch.no_grad():
            features = list(model.backbone(images).values())
            for name, (mean, std) in SPREAD.items():
                layer = getattr(model.head, name)
                torch.nn.init.kaiming_normal_(layer.weight)
                spread_outputs([layer], mean, std, lambda: model.head(features))
    return model


def contract(model: RotatedFCOS, level: str = "final", angle: str = "le90") -> Contract:
    return contract_module(model, rotated_task(angle), level, {})
