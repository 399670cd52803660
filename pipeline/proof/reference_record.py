"""What the unpatched model's results on a data set depend on, so that they are found again."""

from typing import Any

from torch import nn

from pipeline.evaluation.input_policy import InputPolicy
from pipeline.export.manifest import model_libraries, versions
from zoo.cards import config_sha256
from zoo.config import ModelConfig


def reference_made_from(
    config: ModelConfig, model: nn.Module, weights: str, input_policy: InputPolicy, device: str
) -> dict[str, Any]:
    """What the results of the unpatched model depend on, beside the images. ``weights``: the model's sha256."""
    return {
        "weights": weights,
        "config": config_sha256(config),
        "task": [config.task.name, config.task.options],
        "preprocess": input_policy.rule.to_dict(),
        "image_sizes": input_policy.image_sizes,
        "device": device,
        "versions": versions() | model_libraries(model),
        "modules": config.source_hashes(),
    }
