"""The zoo's models as mmengine trains them; the models themselves are not edited."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mmengine.model import BaseModel
from torch import Tensor, nn
from torchvision.models.detection import FCOS, RetinaNet
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN
from torchvision.models.detection.ssd import SSD

from zoo.models.detection.yolov5 import YOLOv5

DETECTORS = (GeneralizedRCNN, RetinaNet, FCOS, SSD, YOLOv5)
# What gives features, scores, box offsets, masks and heatmaps; a detector has some of them. The last is YOLOv5's head.
DETECTOR_PARTS = (
    *("backbone", "head", "rpn.head"),
    *(f"roi_heads.{name}_predictor" for name in ("box", "mask", "keypoint")),
    "model.24",
)


class Trainable(BaseModel):  # type: ignore[misc]  # mmengine is untyped
    """Wraps a model so that a batch of `zoo.datasets.digits.training.collate` gives its dictionary of losses."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, images: Tensor, label_maps: Tensor, targets: list[dict[str, Tensor]], mode: str = "loss"
    ) -> dict[str, Tensor]:
        """Images float32 [N, 3, H, W], label_maps int64 [N, H, W], targets N x torchvision's -> scalar losses."""
        if mode != "loss":
            raise ValueError(f'mode "{mode}": a Trainable only gives losses; use the wrapped model for the rest')
        losses: Any
        if isinstance(self.model, DETECTORS):
            with boxes_in_float32(self.model):
                losses = self.model(list(images), targets)
        else:
            losses = self.model(images, label_maps, mode="loss")
        return {name if "loss" in name else f"loss_{name}": loss for name, loss in losses.items()}  # mmengine's mark


@contextmanager
def boxes_in_float32(model: nn.Module) -> Iterator[None]:
    """Lets detectors compute boxes in float32, whatever the layers compute in.

    Anchors, proposals and even the true boxes take the dtype of features and offsets; in bfloat16, which autocast makes
    of those on a CPU, a coordinate above 256 is only known to 2 pixels.
    """
    parts = dict(model.named_modules())
    hooks = [parts[name].register_forward_hook(_to_float32) for name in DETECTOR_PARTS if name in parts]
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
