"""How a model is given its images: what a deployment and the reference that it is compared with have in common."""

from dataclasses import dataclass

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
