"""A small YOLOv5 with random weights that finds a few dozen objects."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.families import contract_module
from zoo.models.detection.yolov5 import YOLOv5
from zoo.tasks import build_task
from zoo.tasks.contract import Contract

CLASSES, SLOTS, SIZE = 3, 60, (64, 96)
ANCHORS = (((6, 8), (10, 14), (16, 12)), ((20, 24), (30, 22), (28, 40)), ((50, 40), (60, 70), (90, 60)))
TASK = build_task({"type": "Detection", "classes": [{"name": str(i), "category_id": i} for i in range(CLASSES)]})


def small_yolov5(seed: int = 0, **options: Any) -> YOLOv5:
    """In eval mode; batch norms know random images, and the head's outputs spread."""
    torch.manual_seed(seed)
    settings = {"score_thresh": 0.3, "nms_thresh": 0.5, "topk_candidates": 100, "detections_per_img": SLOTS}
    model = YOLOv5(CLASSES, ANCHORS, width=0.125, **{**settings, **options})
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # the plain mean of all images: 0.03 would take hundreds
    seen = scenes(16, 128, 128, seed=100)
    with torch.no_grad():
        for _ in range(4):
            model.train().logits(seen)
    for norm in norms:
        norm.momentum = 0.03
    model.eval()
    with torch.no_grad():
        for conv in model.head.m:
            assert isinstance(conv, nn.Conv2d)
            nn.init.kaiming_normal_(conv.weight)
            nn.init.zeros_(conv.bias)
        for conv, logits in zip(model.head.m, model.logits(seen), strict=True):
            conv.weight /= logits.std()
            conv.bias.view(len(ANCHORS[0]), -1)[:, 4] -= math.log(2)
    return model


def scenes(count: int, height: int, width: int, seed: int = 0) -> Tensor:
    """Images with large and small things in them; of plain noise nothing is left at a stride of 32."""
    noise = torch.Generator().manual_seed(seed)
    sizes = [(max(1, height // cell), max(1, width // cell)) for cell in (32, 8, 1)]
    layers = [F.interpolate(torch.rand(count, 3, *size, generator=noise), (height, width)) for size in sizes]
    return 0.5 * layers[0] + 0.4 * layers[1] + 0.1 * layers[2]


def contract(model: YOLOv5, level: str = "final") -> Contract:
    return contract_module(model, TASK, level, {})
