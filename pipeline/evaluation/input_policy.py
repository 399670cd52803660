"""How a model is given its images: what a deployment and the reference that it is compared with have in common."""

from dataclasses import dataclass

from pipeline.job.deploy_target import target_preprocess
from zoo.config import ModelConfig, config_target
from zoo.preprocess import Preprocess


@dataclass(frozen=True)
class InputPolicy:
    """The preprocessing, and whether the model is given where the images end in their tensors."""

    rule: Preprocess
    image_sizes: bool

    @property
    def words(self) -> str:
        """The size of the input, for a name."""
        size = "own sizes" if self.rule.size is None else f"{self.rule.size[0]}x{self.rule.size[1]}"
        return f"{size}, image_sizes" if self.image_sizes else size


def default_policy(config: ModelConfig) -> InputPolicy:
    """The config's own."""
    target = config_target(config)
    return InputPolicy(config.task.kind.rule(target_preprocess(config, target)), target.image_sizes)
