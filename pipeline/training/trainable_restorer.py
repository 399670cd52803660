"""Super-resolution as mmengine trains it; the models themselves are not edited."""

import torch
import torch.nn.functional as F
from mmengine.model import BaseModel
from torch import Tensor

from zoo.models.restoration import SRCNN, AnyScaleSRCNN
from zoo.models.restoration.luma import luma


class TrainableRestorer(BaseModel):  # type: ignore[misc]  # mmengine is untyped
    """Wraps an SRCNN so that a batch of `zoo.datasets.photographs.training.collate` gives its loss.

    That is the mean squared error, as in the paper, of what the network mends: the luma, or red, green and blue.
    """

    def __init__(self, model: SRCNN) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor, targets: Tensor, mode: str = "loss") -> dict[str, Tensor]:
        """Images float32 [N, 3, h, w], targets [N, 3, h * s, w * s] -> the scalar loss."""
        if mode != "loss":
            raise ValueError(
                f'mode "{mode}": a TrainableRestorer only gives losses; use the wrapped model for the rest'
            )
        options: tuple[Tensor, ...] = ()
        if isinstance(self.model, AnyScaleSRCNN):
            options = (torch.tensor([targets.shape[2] // images.shape[2]]),)
        found = self.model(images, *options)
        compared = luma if self.model.channels == "y" else _all
        return {"loss": F.mse_loss(compared(found), compared(targets))}


def _all(rgb: Tensor) -> Tensor:
    return rgb
