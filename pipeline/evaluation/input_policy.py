"""How a model is given its images: what a deployment and the reference that it is compared with have in common."""

from dataclasses import dataclass
from typing import Any

from pipeline.job.deploy_target import target_preprocess
from zoo.config import ModelConfig, config_target
from zoo.input_kinds import InputKind


@dataclass(frozen=True)
class InputPolicy:
    """The preprocessing, and whether the model is given where the images end in their tensors."""

    rule: Any
    image_sizes: bool

    def words(self, kind: InputKind) -> str:
        """The size of the input, for a name."""
        return f"{kind.words(self.rule)}, image_sizes" if self.image_sizes else kind.words(self.rule)


def default_policy(config: ModelConfig) -> InputPolicy:
    """The config's own."""
    target = config_target(config)
    return InputPolicy(target_preprocess(config, target), target.image_sizes)
