"""torchvision's complete detectors, by the names of its own builders."""

from typing import Any

from torch import nn
from torchvision.models import detection
from torchvision.ops.misc import FrozenBatchNorm2d

from zoo.models.torchvision_builder import build_torchvision
from zoo.registry import MODELS


def build_torchvision_detector(
    architecture: str, num_classes: int, frozen_batch_norm: float | None = None, **options: Any
) -> nn.Module:
    """`architecture`: as in ``torchvision.models.detection``, for example "ssdlite320_mobilenet_v3_large".

    Random weights: nothing is downloaded, the config's checkpoint says what they are. `frozen_batch_norm`: the eps of
    FrozenBatchNorm2d in the backbone, which torchvision's builders put there for some pretrained weights alone; None
    keeps batch norm. `options` are the keyword arguments of that builder. Raises InputError for a name that torchvision
    does not have.
    """
    model = build_torchvision(detection, architecture, num_classes, **options)
    if frozen_batch_norm is not None:
        _freeze_batch_norm(model.get_submodule("backbone"), frozen_batch_norm)
    return model


def _freeze_batch_norm(backbone: nn.Module, eps: float) -> None:
    for module in list(backbone.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                frozen = FrozenBatchNorm2d(child.num_features, eps)
                frozen.load_state_dict(child.state_dict())
                setattr(module, name, frozen)


MODELS.register_module(name="TorchvisionDetector", module=build_torchvision_detector)
