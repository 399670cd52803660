"""The outputs of any module."""

from collections.abc import Mapping
from typing import Any, Self

from torch import Tensor, nn

from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tasks.tensors.proof.named_outputs import tensors


class TensorsFinal(Contract):
    """-> the module's tensors that the task keeps, in its order; all of them for a task that does not know them yet."""

    keep: tuple[str, ...] = ()

    @classmethod
    def of_task(cls, model: nn.Module, forward: Mapping[str, Any], task: Task) -> Self:
        """The names come from the task."""
        contract = cls(model, forward)
        contract.keep = tuple(spec.name for spec in task.outputs("final"))
        return contract

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensors(self.model(images, **self.forward_options), self.keep).values())
