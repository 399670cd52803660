"""torchvision's twelve detectors, whole, with calibrated random weights, for the benchmark scripts."""

import os
from typing import Any

import cv2
import torch
from measured import ROOT, sources
from torch import Tensor

from zoo.random_weights import spread_detector
from zoo.registry import MODELS
from zoo.tasks import Task, build_task

VAL = ROOT / "zoo/data/digits/val/images"
# By torchvision's name: the task, and options that leave some tens of detections, not hundreds near a threshold.
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "fasterrcnn_resnet50_fpn": ("Detection", {"box_score_thresh": 0.2}),
    "fasterrcnn_resnet50_fpn_v2": ("Detection", {"box_score_thresh": 0.2}),
    "fasterrcnn_mobilenet_v3_large_fpn": ("Detection", {"box_score_thresh": 0.2}),
    "fasterrcnn_mobilenet_v3_large_320_fpn": ("Detection", {"box_score_thresh": 0.2}),
    "maskrcnn_resnet50_fpn": ("InstanceSegmentation", {"box_score_thresh": 0.2}),
    "maskrcnn_resnet50_fpn_v2": ("InstanceSegmentation", {"box_score_thresh": 0.2}),
    "keypointrcnn_resnet50_fpn": ("KeypointDetection", {"box_score_thresh": 0.2}),
    "retinanet_resnet50_fpn": ("Detection", {}),
    "retinanet_resnet50_fpn_v2": ("Detection", {}),
    "fcos_resnet50_fpn": ("Detection", {}),
    "ssd300_vgg16": ("Detection", {"score_thresh": 0.5}),
    "ssdlite320_mobilenet_v3_large": ("Detection", {"score_thresh": 0.5}),
}
SOURCES = (
    "zoo/models/detection",
    "zoo/random_weights.py",
    "zoo/contract",
    "zoo/tasks/detection/proof/contracts.py",
    "zoo/tasks/instance_segmentation/proof/contracts.py",
    "zoo/tasks/keypoint_detection/proof/contracts.py",
    "rewriters/patching",
    "rewriters/graph_passes",
    "rewriters/onnx_graph",
    "rewriters/ops",
    "rewriters/torch_functions/interpolate.py",
    "rewriters/torchvision_detection",
)
CLASSES = {"KeypointDetection": 2}  # torchvision's: a person, or not
COCO_CLASSES = 91


def made_of() -> str:
    """A hash over the code that makes these models and their graphs."""
    return sources(*SOURCES)


def sample_images(count: int, size: tuple[int, int]) -> Tensor:
    """The first validation images, over and over, stretched to (height, width): float32 [count, 3, H, W], RGB."""
    found = [cv2.imread(str(path)) for path in sorted(VAL.glob("*.jpg"))[:4]]
    stretched = [cv2.resize(image, size[::-1])[..., ::-1].copy() for image in found if image is not None]
    tensors = [torch.from_numpy(image).permute(2, 0, 1).float() / 255 for image in stretched]
    return torch.stack([tensors[number % len(tensors)] for number in range(count)])


def calibrated(architecture: str, size: tuple[int, int]) -> Any:
    """In eval mode; torchvision's own resize keeps images of `size` as they are, but for SSD's fixed one.

    Calibration takes a minute at 800 px; its weights are kept in work_dirs.
    """
    torch.manual_seed(0)
    kind, options = ARCHITECTURES[architecture]
    section = {"type": "TorchvisionDetector", "architecture": architecture}
    if not architecture.startswith("ssd"):
        options = {**options, "min_size": min(size), "max_size": max(size)}
    model = MODELS.build({**section, "num_classes": CLASSES.get(kind, COCO_CLASSES), **options})
    kept = ROOT / f"work_dirs/calibrated/{architecture}_{size[0]}x{size[1]}_{made_of()}.pt"
    if kept.is_file():
        model.load_state_dict(torch.load(kept, weights_only=True))
        model.eval()
        with torch.no_grad():
            model(list(sample_images(1, size)))  # R-CNNs take the scales of their levels from the first image
        return model
    spread_detector(model, list(sample_images(4, size)))
    kept.parent.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), beside := kept.with_suffix(f".{os.getpid()}"))
    beside.replace(kept)
    return model


def task_of(architecture: str) -> Task:
    """With as many classes as the architecture has here; their names are numbers."""
    kind, _ = ARCHITECTURES[architecture]
    classes = [{"name": str(label), "category_id": label} for label in range(CLASSES.get(kind, COCO_CLASSES))]
    return build_task({"type": kind, "classes": classes})
