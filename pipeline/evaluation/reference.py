"""The unpatched model, with the interface of a deployment."""

from mmengine.config import Config
from torch import nn

from backends.image_model import ImageModel
from backends.pytorch import PyTorchRunner
from zoo.contract import contract_module
from zoo.preprocess import Preprocess
from zoo.target import AxisRange
from zoo.tasks import Task
from zoo.tensor_spec import TensorSpec

REFERENCE_BACKEND = "pytorch"


def reference_model(
    config: Config, task: Task, model: nn.Module, rule: Preprocess, *, batch_size: int, device: str
) -> ImageModel:
    """The model in eager PyTorch, no rewriter near it, fed by ``rule``, at most ``batch_size`` images at once."""
    forward = dict(config.get("export", {}).get("forward", {}))
    sides = rule.size or ("height", "width")
    runner = PyTorchRunner(
        contract_module(model.to(device), task, "final", forward),
        (TensorSpec("images", "float32", ("batch", 3, *sides)),),
        task.outputs("final"),
        {"batch": AxisRange(1, 1, batch_size)},
        device=device,
    )
    return ImageModel(REFERENCE_BACKEND, task, rule, runner)
