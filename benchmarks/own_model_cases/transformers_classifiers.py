"""Classifiers of transformers, small: TransformersClassifier."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from own_model_case import OwnModel
from own_model_classifiers import NUM_CLASSES, calibrated_classifier
from torchvision_models import sample_images

from zoo.checkpoint import load_checkpoint
from zoo.registry import MODELS

MADE_OF = (
    *("zoo/models/transformers", "zoo/tasks/image_classification", "rewriters/transformers"),
    "benchmarks/own_model_classifiers.py",
)
SQUARE, SIZE, SECOND = (64, 64), (96, 128), (107, 139)
VIT = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "image_size": SQUARE[0],
    "patch_size": 16,
}
WINDOWS = {"image_size": SQUARE[0], "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2]}
STAGES = {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]}


def _case(
    kind: str, settings: Mapping[str, Any], size: tuple[int, int] = SIZE, second: tuple[int, int] | None = SECOND
) -> Callable[[], OwnModel]:
    """transformers' `kind`Config and `kind`ForImageClassification."""

    def build() -> OwnModel:
        import transformers

        torch.manual_seed(0)
        config = getattr(transformers, f"{kind}Config")(**settings, num_labels=NUM_CLASSES)
        with tempfile.TemporaryDirectory() as folder:
            getattr(transformers, f"{kind}ForImageClassification")(config).save_pretrained(folder)
            model = MODELS.build({"type": "TransformersClassifier", "folder": folder})
            load_checkpoint(model, Path(folder) / "model.safetensors")
        return calibrated_classifier(model, sample_images(3, size), second and sample_images(1, second))

    return build


CASES = {
    "vit": _case("ViT", VIT, SQUARE, None),
    "deit": _case("DeiT", VIT, SQUARE, None),
    "swin": _case("Swin", {**WINDOWS, "window_size": 4}, SQUARE, None),
    "convnext": _case("ConvNext", STAGES),
    "resnet": _case("ResNet", {**STAGES, "embedding_size": 8, "layer_type": "basic"}),
    "mobilenet_v2": _case("MobileNetV2", {"depth_multiplier": 0.35}),
}
