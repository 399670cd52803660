"""Small models of the real classes, exported and run."""

import copy
import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import torch
from torch import Tensor, nn
from torchvision.models.detection import FasterRCNN, KeypointRCNN, MaskRCNN

from rewriters import ExportRecord, export_onnx
from rewriters.patching import rewriter as registry
from zoo import Target
from zoo.families import contract_module
from zoo.models.segmentation import EncoderDecoder
from zoo.registry import MODELS
from zoo.target import AxisRange
from zoo.tasks import build_task
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

CLASSES = 4
POINTS = 5


def fixed_target(height: int, width: int, **changes: Any) -> Target:
    return Target({"height": AxisRange.fixed(height), "width": AxisRange.fixed(width)}).with_(**changes)


def small_faster_rcnn(seed: int = 0, **options: Any) -> FasterRCNN:
    """torchvision's FasterRCNN with random weights, calibrated so that it proposes and finds things."""
    model: FasterRCNN = _small_rcnn("FasterRCNN", seed, **options)
    return model


def small_mask_rcnn(seed: int = 0, **options: Any) -> MaskRCNN:
    """The same with a mask branch."""
    model: MaskRCNN = _small_rcnn("MaskRCNN", seed, mask_channels=(8, 8), **options)
    return model


def small_keypoint_rcnn(seed: int = 4, **options: Any) -> KeypointRCNN:
    """The same with a keypoint branch, whose heatmaps have clear peaks."""
    model: KeypointRCNN = _small_rcnn("KeypointRCNN", seed, num_keypoints=POINTS, keypoint_channels=(8, 8), **options)
    nn.init.normal_(model.roi_heads.keypoint_predictor.kps_score_lowres.weight, std=0.5)
    return model


def _small_rcnn(kind: str, seed: int, **options: Any) -> Any:
    """The caller's own."""
    model = copy.deepcopy(_built_rcnn(kind, seed, **options))
    torch.manual_seed(seed)
    return model


@functools.cache
def _built_rcnn(kind: str, seed: int, **options: Any) -> Any:
    torch.manual_seed(seed)
    settings: dict[str, Any] = {
        "min_size": 64,
        "max_size": 96,
        "rpn_pre_nms_top_n_test": 60,
        "rpn_post_nms_top_n_test": 40,
        "box_score_thresh": 0.3,
        "box_detections_per_img": 20,
    }
    model = MODELS.build(
        {
            "type": kind,
            "num_classes": CLASSES,
            "backbone": {"base_channels": 4, "out_channels": 16},
            "anchor_sizes": (8, 16, 32, 64, 128),
            "box_head_channels": 32,
            **settings,
            **options,
        }
    )
    calibrate(model.backbone)
    spread = {
        model.rpn.head.cls_logits: 0.5,
        model.rpn.head.bbox_pred: 0.1,
        model.roi_heads.box_head.fc6: 0.2,
        model.roi_heads.box_head.fc7: 0.4,
        model.roi_heads.box_predictor.cls_score: 0.03,
        model.roi_heads.box_predictor.bbox_pred: 0.5,
    }
    for layer, std in spread.items():
        nn.init.normal_(layer.weight, std=std)
        nn.init.normal_(layer.bias, std=std)
    return model.eval()


def small_segmentor(mode: str = "slide", seed: int = 0, classes: int = CLASSES, **test_cfg: Any) -> EncoderDecoder:
    """The caller's own."""
    model = copy.deepcopy(_built_segmentor(mode, seed, classes, **test_cfg))
    torch.manual_seed(seed)
    return model


@functools.cache
def _built_segmentor(mode: str, seed: int, classes: int, **test_cfg: Any) -> EncoderDecoder:
    model = _segmentor(seed, classes, {"mode": mode, "crop_size": (32, 32), "stride": (20, 20), **test_cfg})
    model.load_state_dict(_segmentor_state(seed, classes))
    return model.eval()


@functools.cache
def _segmentor_state(seed: int, classes: int) -> dict[str, Tensor]:
    """Of the model that takes images whole: windows learn the same statistics, in many more runs."""
    model = _segmentor(seed, classes, {"mode": "whole"})
    calibrate(model)
    return model.state_dict()


def _segmentor(seed: int, classes: int, test_cfg: Mapping[str, Any]) -> EncoderDecoder:
    torch.manual_seed(seed)
    return EncoderDecoder(
        backbone={"type": "ResNet18", "base_channels": 2, "strides": (1, 2, 1, 1), "dilations": (1, 1, 2, 4)},
        decode_head={
            "type": "FCNHead",
            "in_channels": [2, 16],
            "in_index": [0, 3],
            "channels": 4,
            "num_classes": classes,
        },
        test_cfg=dict(test_cfg),
    )


def calibrate(model: nn.Module) -> None:
    """Batch norm statistics of random images, so that activations neither vanish nor explode."""
    model.train()
    with torch.no_grad():
        for _ in range(10):
            model(torch.rand(4, 3, 64, 96))


def contract(model: nn.Module, level: str = "final", **options: Any) -> Contract:
    """With the task's options."""
    kinds = {
        FasterRCNN: "Detection",
        MaskRCNN: "InstanceSegmentation",
        KeypointRCNN: "KeypointDetection",
        EncoderDecoder: "SemanticSegmentation",
    }
    kind = kinds[type(model)]
    classes = [{"name": str(i), "category_id": i} for i in range(CLASSES)]
    return contract_module(model, build_task({"type": kind, "classes": classes, **options}), level, {})


def detection_specs(slots: int, batch: int | str = "batch", columns: int = 4) -> list[TensorSpec]:
    return [
        TensorSpec("num_dets", "int64", (batch,)),
        TensorSpec("boxes", "float32", (batch, slots, columns)),
        TensorSpec("scores", "float32", (batch, slots)),
        TensorSpec("labels", "int64", (batch, slots)),
    ]


def instance_specs(slots: int, batch: int | str = "batch") -> list[TensorSpec]:
    return [*detection_specs(slots, batch), TensorSpec("masks", "float32", (batch, slots, 28, 28))]


def image_mask_specs(
    slots: int, batch: int | str = "batch", height: int | str = "height", width: int | str = "width"
) -> list[TensorSpec]:
    return [*instance_specs(slots, batch), TensorSpec("image_masks", "uint8", (batch, slots, height, width))]


def keypoint_specs(slots: int, batch: int | str = "batch") -> list[TensorSpec]:
    return [*detection_specs(slots, batch), TensorSpec("keypoints", "float32", (batch, slots, POINTS, 3))]


def export(module: nn.Module, target: Target, path: Path, specs: list[TensorSpec], **options: Any) -> ExportRecord:
    example = torch.rand(2, 3, *target.preferred.values(), generator=torch.Generator().manual_seed(1))
    return export_onnx(module, target, path, example={"images": example}, output_specs=specs, **options)


def run(path: Path, images: torch.Tensor) -> list[np.ndarray]:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    outputs: list[np.ndarray] = session.run(None, {"images": images.numpy()})
    return outputs


@contextmanager
def without_rewriter(name: str) -> Iterator[None]:
    """The registry without one rewriter, to see what goes wrong."""
    saved = list(registry.REWRITERS)
    registry.REWRITERS[:] = [rewriter for rewriter in saved if rewriter.name != name]
    assert len(registry.REWRITERS) < len(saved), name
    try:
        yield
    finally:
        registry.REWRITERS[:] = saved
