"""How classifiers learn."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.families import Contracts, Family, register
from zoo.models.classification.image_classifier import ImageClassifier
from zoo.tasks.image_classification.proof import ClassificationProof

LABEL_SMOOTHING = 0.05


@register(ImageClassifier)
class ImageClassifierFamily(Family):
    """Its contract is the task's."""

    name: ClassVar[str] = "ImageClassifier"
    contracts: ClassVar[Contracts] = {
        ("image-classification", level): contract for level, contract in ClassificationProof.contracts.items()
    }

    def losses(self, model: nn.Module, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """The cross entropy. Of images float32 [N, 3, H, W] and labels int64 [N]."""
        return {"loss": F.cross_entropy(model(batch["images"]), batch["labels"], label_smoothing=LABEL_SMOOTHING)}
