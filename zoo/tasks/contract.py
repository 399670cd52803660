"""The base of all contracts."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from zoo.tasks.task import Task
from zoo.tensor_spec import TensorSpec

FIRST_STEP = "first_step"
"""The name of the submodule of a contract through which the graph's first input goes before forward."""


class Contract(nn.Module):
    """A model with the keyword arguments of its forward; subclasses give the contract's tensors of one level.

    forward: images float32 [N, 3, H, W], RGB, 0..1 -> a tuple of tensors in the order of `outputs`.
    """

    num_slots: int | None = None
    raw_names: tuple[str, ...] = ()
    """The head's own tensors, float32, for level "raw", which the task leaves open."""
    settings: tuple[TensorSpec, ...] = ()
    """What forward takes behind the images: tensors of one element, each with a default."""
    unused_rewriters: tuple[str, ...] = ()
    """Of the rewriters of its family, those of what a graph of this level does not hold."""
    rearranged: tuple[type[nn.Module], ...] = ()
    """Modules within which the graph has other rows than PyTorch, or another order: what they give is as PyTorch's."""

    def __init__(self, model: nn.Module, forward: Mapping[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.forward_options = dict(forward)
        self.defaults: dict[str, int] = {}  # of `settings`
        self.eval()  # a fresh module is in training mode, and the torchscript exporter would leave the model in it

    def put_before(self, step: nn.Module) -> None:
        """From now on the graph's first input goes through `step`, and forward gets what that gives."""
        self.add_module(FIRST_STEP, step.eval())
        self.register_forward_pre_hook(_through_first_step)

    @classmethod
    def of_task(cls, model: nn.Module, forward: Mapping[str, Any], task: Task) -> Self:  # noqa: ARG003 - some use it
        """Its contract for a task, where that has a say in what forward gives."""
        return cls(model, forward)

    def default_arrays(self) -> dict[str, NDArray[Any]]:
        """The settings as inputs of a graph, by name: arrays of one element."""
        return {spec.name: np.array([self.defaults[spec.name]], spec.dtype) for spec in self.settings}

    def outputs(self, task: Task, level: str) -> tuple[TensorSpec, ...]:
        """The tensors of forward, in order: the task's own contract where the model's family has no other.

        Where a run of the model tells the shape, as at level "raw", names and dtypes alone, shape ().
        """
        return task.outputs(level) or tuple(TensorSpec(name, "float32", ()) for name in self.raw_names)


def _through_first_step(contract: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    first, *others = inputs
    return (contract.get_submodule(FIRST_STEP)(first), *others)
