"""The unpatched model that a deployment was made from."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.evaluation.input_policy import InputPolicy
from zoo.config import ModelConfig, load_config
from zoo.manifest import Manifest

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class DeployedModel:
    """``config``: with the deployment's task, which knows what only a run of the model shows."""

    config: ModelConfig
    model: "nn.Module"
    input_policy: InputPolicy


def deployed_model(folder: str | Path, config: str, checkpoint: str | None) -> DeployedModel:
    """Build the model. Raises InputError where it is not that of the deployment, by the hash of its weights."""
    from pipeline.base.weights import weights_sha256
    from pipeline.candidates.candidate import candidates
    from zoo.build import build_model

    manifest = Manifest.read(folder)
    loaded = load_config(config)
    model = build_model(loaded, checkpoint)
    loaded = replace(loaded, task=manifest.build_task())
    (candidate,) = candidates(loaded, [Path(folder)], weights_sha256(model))
    return DeployedModel(loaded, model, candidate.input_policy)
