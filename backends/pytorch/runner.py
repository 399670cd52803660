"""The reference runner: a PyTorch module with the interface of the others. Imports torch when it is made."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from backends.availability import require
from backends.runner import Array, Runner
from zoo.errors import InputError
from zoo.model_run import model_run
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from torch import nn


class PyTorchRunner(Runner):
    """Runs `module` eagerly in inference mode: inputs in order as positional tensors, a tensor or a tuple of them back.

    `threads`: of a run on the CPU; it stays torch's number in the thread that runs. None: torch's own.
    Inputs and outputs are copied, so a module that works in place, or gives a view of its input or of a buffer, does no
    harm. The module stays where it is, as `device` says, and inputs go there. cuDNN's TF32 is off during a run.
    Raises InputError where a part of the module is in train mode (also if it is put there later) or gives another
    number of tensors than `outputs`, where it asks for a download, and where a library's module refuses its input
    (ModelRunError); BackendUnavailableError without torch.
    """

    def __init__(
        self,
        module: "nn.Module",
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec],
        axes: Mapping[str, AxisRange] | None = None,
        *,
        defaults: Mapping[str, float] | None = None,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        require("pytorch")
        super().__init__(inputs, outputs, axes, defaults)
        self.threads = threads
        self.device = device
        self._module: nn.Module | None = module
        _check_eval(module)

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        import torch

        module = self._module
        if module is None:
            raise InputError("the runner is closed; make a new one")
        _check_eval(module)
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        with (
            model_run(*arrays.values()),
            torch.inference_mode(),
            torch.backends.cudnn.flags(enabled=True, allow_tf32=False),
        ):
            tensors = module(*(torch.tensor(array, device=self.device) for array in arrays.values()))
            if isinstance(tensors, torch.Tensor):
                tensors = (tensors,)
            if not isinstance(tensors, tuple | list) or len(tensors) != len(self.outputs):
                count = f"{len(tensors)} values" if isinstance(tensors, tuple | list) else type(tensors).__name__
                raise InputError(
                    f"{type(module).__name__} gave {count}, expected {len(self.outputs)} tensors: "
                    f"{', '.join(map(str, self.outputs))}"
                )
            return [tensor.detach().cpu().numpy().copy() for tensor in tensors]

    def _release(self) -> None:
        self._module = None


def _check_eval(module: "nn.Module") -> None:
    for name, part in module.named_modules():
        if part.training:
            raise InputError(
                f"{type(module).__name__}: module {name or '(itself)'} is in train mode, where dropout and batch norm "
                "change the result; call .eval() on the whole module"
            )
