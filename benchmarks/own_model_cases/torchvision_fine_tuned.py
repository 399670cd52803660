"""Detectors and segmentors of torchvision with classes of one's own: TorchvisionDetector, TorchvisionSegmentor."""

from collections.abc import Callable
from typing import Any

import torch
from own_model_case import OwnModel
from torchvision_models import sample_images

from zoo.random_weights import learn_statistics, spread_detector, spread_logits
from zoo.registry import MODELS
from zoo.tasks import build_task

MADE_OF = (
    *("zoo/models/detection", "zoo/models/segmentation", "zoo/tasks/detection", "zoo/tasks/semantic_segmentation"),
    *("rewriters/torchvision_detection", "rewriters/segmentation"),
)
CLASSES = [{"name": name, "category_id": label} for label, name in enumerate(("background", "cat", "dog"))]
SIZE, SECOND = (96, 128), (128, 160)


def _detector(architecture: str, **options: Any) -> Callable[[], OwnModel]:
    """Of one size: its own transform resizes images of any other."""

    def build() -> OwnModel:
        torch.manual_seed(0)
        section = {"type": "TorchvisionDetector", "architecture": architecture, "num_classes": len(CLASSES)}
        model, images = MODELS.build({**section, **options}), sample_images(3, SIZE)
        spread_detector(model, list(images))
        task = build_task({"type": "Detection", "classes": CLASSES})
        return OwnModel(model, task, images, None, plain_level="raw")

    return build


def _segmentor(architecture: str) -> Callable[[], OwnModel]:
    def build() -> OwnModel:
        torch.manual_seed(0)
        section = {"type": "TorchvisionSegmentor", "architecture": architecture, "num_classes": len(CLASSES)}
        model, images = MODELS.build(section), sample_images(3, SIZE)
        learn_statistics(model, lambda: model(images))
        spread_logits(model, len(CLASSES), lambda: model(images))
        task = build_task({"type": "SemanticSegmentation", "classes": CLASSES})
        return OwnModel(model, task, images, sample_images(1, SECOND))

    return build


RESIZED = {"min_size": SIZE[0], "max_size": SIZE[1]}
CASES = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": _detector(
        "fasterrcnn_mobilenet_v3_large_320_fpn", box_score_thresh=0.2, **RESIZED
    ),
    "ssdlite320_mobilenet_v3_large": _detector("ssdlite320_mobilenet_v3_large", score_thresh=0.5),
    "lraspp_mobilenet_v3_large": _segmentor("lraspp_mobilenet_v3_large"),
}
