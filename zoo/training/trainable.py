"""The zoo's models as mmengine trains them; the models themselves are not edited."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from mmengine.model import BaseModel
from torch import Tensor, nn
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

DETECTOR_PARTS = ("backbone", "rpn.head", "roi_heads.box_predictor")  # what gives features, scores and box offsets


class Trainable(BaseModel):  # type: ignore[misc]  # mmengine is untyped
    """Wraps a model so that a batch of `zoo.datasets.digits.training.collate` gives its dictionary of losses."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, images: Tensor, label_maps: Tensor, targets: list[dict[str, Tensor]], mode: str = "loss"
    ) -> dict[str, Tensor]:
        """Images float32 [N, 3, H, W], label_maps int64 [N, H, W], targets N x {"boxes", "labels"} -> scalar losses."""
        if mode != "loss":
            raise ValueError(f'mode "{mode}": a Trainable only gives losses; use the wrapped model for the rest')
        losses: Any
        images = images.contiguous(memory_format=torch.channels_last)
        if isinstance(self.model, GeneralizedRCNN):
            with boxes_in_float32(self.model):
                losses = self.model(list(images), targets)
        else:
            losses = self.model(images, label_maps, mode="loss")
        return dict(losses)


@contextmanager
def boxes_in_float32(model: nn.Module) -> Iterator[None]:
    """Lets torchvision's detectors compute boxes in float32, whatever the layers compute in.

    Anchors, proposals and even the true boxes take the dtype of features and offsets; in bfloat16, which autocast makes
    of those on a CPU, a coordinate above 256 is only known to 2 pixels.
    """
    hooks = [model.get_submodule(name).register_forward_hook(_to_float32) for name in DETECTOR_PARTS]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _to_float32(_module: nn.Module, _inputs: object, output: Any) -> Any:
    """A tensor, or tensors in lists, tuples and mappings, as float32."""
    if isinstance(output, Tensor):
        return output.float()
    if isinstance(output, Mapping):
        return {name: _to_float32(_module, _inputs, value) for name, value in output.items()}
    return type(output)(_to_float32(_module, _inputs, value) for value in output)
