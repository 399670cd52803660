"""Small dense detectors of torchvision's own classes, with random weights that find a few hundred candidates."""

import copy
import functools
from typing import Any

import torch
from torch import nn

from tests.rewriters.small_models import CLASSES, calibrate
from zoo.families import contract_module
from zoo.registry import MODELS
from zoo.tasks import build_task
from zoo.tasks.contract import Contract

SLOTS = 80
SIZE = {"min_size": 64, "max_size": 96}
ANCHORS = (8, 16, 32, 64, 128)

# What the registry builds, and the mean and spread of each of the head's outputs.
SMALL: dict[str, tuple[dict[str, Any], dict[str, tuple[float, float]]]] = {
    "retina_net": (
        {"type": "RetinaNet", "anchor_sizes": ANCHORS, "score_thresh": 0.3, **SIZE},
        {"cls_logits": (-3.5, 1.5), "bbox_regression": (0.0, 0.5)},
    ),
    "retina_net_v2": (
        {"type": "RetinaNet", "anchor_sizes": ANCHORS, "head_norm_groups": 4, "score_thresh": 0.3, **SIZE},
        {"cls_logits": (-3.5, 1.5), "bbox_regression": (0.0, 0.5)},
    ),
    "fcos": (
        {"type": "FCOS", "head_convs": 2, "score_thresh": 0.4, **SIZE},
        {"cls_logits": (-2.0, 1.5), "bbox_regression": (2.0, 1.0), "bbox_ctrness": (0.0, 1.0)},
    ),
    "ssd": (
        {"type": "SSD", "size": (96, 64), "score_thresh": 0.6},
        {"cls_logits": (0.0, 1.5), "bbox_regression": (0.0, 1.0)},
    ),
}
LAST_LAYERS = {
    "cls_logits": ("cls_logits", "classification_head.module_list"),
    "bbox_regression": ("bbox_reg", "regression_head.module_list"),
    "bbox_ctrness": ("bbox_ctrness",),
}


def small_detector(family: str, seed: int = 0, **options: Any) -> Any:
    """torchvision's own class, in eval mode; the caller's own."""
    model = copy.deepcopy(_built(family, seed, **options))
    torch.manual_seed(seed)
    return model


@functools.cache
def _built(family: str, seed: int, **options: Any) -> Any:
    torch.manual_seed(seed)
    section, spread = SMALL[family]
    model: Any = MODELS.build(
        {
            **section,
            "num_classes": CLASSES,
            "backbone": {"base_channels": 4, "out_channels": 64 if family == "fcos" else 16},
            "topk_candidates": 30,
            "detections_per_img": SLOTS,
            **options,
        }
    )
    calibrate(model.backbone)
    model.eval()
    for layer in model.head.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
    for output, (mean, std) in spread.items():
        spread_out(model, output, mean, std, torch.rand(4, 3, 64, 96))
    return model


def spread_out(model: Any, output: str, mean: float, std: float, images: torch.Tensor) -> None:
    """Scale and shift the head's last layers so that `output`, before a ReLU, has this mean and spread on `images`."""
    layers = [
        layer
        for name, layer in model.head.named_modules()
        if isinstance(layer, nn.Conv2d) and layer.bias is not None and any(part in name for part in LAST_LAYERS[output])
    ]
    seen: list[torch.Tensor] = []
    hooks = [layer.register_forward_hook(lambda _module, _args, out: seen.append(out.flatten())) for layer in layers]
    with torch.no_grad():
        model(list(images))
        values = torch.cat(seen)
        for layer in layers:
            layer.weight *= std / values.std()
            layer.bias.copy_((layer.bias - values.mean()) * std / values.std() + mean)
    for hook in hooks:
        hook.remove()


def dense_contract(model: nn.Module, level: str = "final") -> Contract:
    classes = [{"name": str(i), "category_id": i} for i in range(CLASSES)]
    return contract_module(model, build_task({"type": "Detection", "classes": classes}), level, {})
