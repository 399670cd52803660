"""The unpatched model, with the interface of a deployment."""

from torch import nn

from backends.model import Model
from backends.pytorch.runner import PyTorchRunner
from pipeline.evaluation.input_policy import InputPolicy
from zoo.config import ModelConfig
from zoo.families import contract_module
from zoo.target import REFERENCE_BACKEND, AxisRange
from zoo.tasks import Task


def reference_model(
    config: ModelConfig,
    task: Task,
    model: nn.Module,
    input_policy: InputPolicy,
    *,
    batch_size: int,
    device: str,
    threads: int | None = None,
    workers: int | None = None,
) -> Model:
    """The model in eager PyTorch, no rewriter near it, at most ``batch_size`` images at once.

    ``threads``: of a run, see PyTorchRunner. ``workers``: see Model.
    """
    contract = contract_module(model.to(device), task, "final", config.export.forward, rule=input_policy.rule)
    runner = PyTorchRunner(
        contract,
        (*task.kind.specs(image_sizes=input_policy.image_sizes), *contract.settings),
        contract.outputs(task, "final"),
        {"batch": AxisRange(1, 1, batch_size)},
        defaults=contract.defaults,
        device=device,
        threads=1 if threads is None and workers is not None else threads,
    )
    return Model(REFERENCE_BACKEND, task, input_policy.rule, runner, workers=workers)
