"""The tensors that pass between the modules of a model while it runs in eager PyTorch.

Each has a number, the same in every run: a tensor that one module gives and the next one takes has one number, and gets
another when it is changed in place.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torchvision.models.detection.image_list import ImageList

from zoo.downloads import RUNS, refused_downloads
from zoo.ops.mark import hearing_marks
from zoo.tasks.contract import Contract

Array = NDArray[Any]
IN, OUT, MARKED = "in", "out", "mark"
Role = tuple[str, str]
"""(module or mark, IN, OUT or MARKED)."""
_NUMBER = "_zooport_number"


@dataclass
class EagerRun:
    """`roles`: the numbers of the tensors in each, over all calls, in order, each once. `calls`: of each module, the
    numbers that it took and gave. `kept`: the wanted tensors. `outputs`: what the contract gave; `own`: what the
    model gave, None where the contract runs parts of it alone.
    """

    roles: dict[Role, list[int]] = field(default_factory=dict)
    calls: dict[str, list[tuple[tuple[int, ...], tuple[int, ...]]]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    kept: dict[int, Array] = field(default_factory=dict)
    outputs: tuple[Array, ...] = ()
    own: Any = None
    mark: object = field(default_factory=object)
    """On each numbered tensor: one that the model keeps for later runs has a number of each run's own."""

    def seen(self, tensor: Tensor, wanted: Collection[int]) -> int:
        """The tensor's number; a copy is kept where it is wanted, for what follows may change it in place."""
        known: tuple[object, int, int] | None = getattr(tensor, _NUMBER, None)
        version = _version(tensor)
        if known is not None and known[0] is self.mark and known[2] == version:
            return known[1]
        number = len(self.sizes)
        self.sizes[number] = tensor.numel() * tensor.element_size()
        setattr(tensor, _NUMBER, (self.mark, number, version))
        if number in wanted:
            self.kept[number] = np.array(tensor.numpy())
        return number

    def add(self, role: Role, numbers: Collection[int]) -> None:
        """Further tensors of a role."""
        there = self.roles.setdefault(role, [])
        there.extend(number for number in dict.fromkeys(numbers) if number not in there)


def run_eager(module: Contract, feed: Mapping[str, Array], wanted: Collection[int] = ()) -> EagerRun:
    """One run of the contract's module on these inputs, unpatched."""
    run = EagerRun()
    taken: list[tuple[int, ...]] = []

    def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
        taken.append(tuple(run.seen(tensor, wanted) for tensor in tensors_in((args, kwargs))))

    def after(name: str) -> Callable[..., None]:
        def note(_module: nn.Module, _args: Any, _kwargs: Any, output: Any) -> None:
            outputs = tuple(run.seen(tensor, wanted) for tensor in tensors_in(output))
            took = taken.pop()
            run.calls.setdefault(name, []).append((took, outputs))
            run.add((name, IN), took)
            run.add((name, OUT), outputs)
            if not name:
                run.own = output

        return note

    def heard(name: str, tensor: Tensor) -> None:
        run.add((name, MARKED), [run.seen(tensor, wanted)])

    with ExitStack() as stack, refused_downloads("the model", RUNS), torch.no_grad():
        for name, part in module.model.named_modules():
            handles = (
                part.register_forward_pre_hook(before, with_kwargs=True),
                part.register_forward_hook(after(name), with_kwargs=True),
            )
            for handle in handles:
                stack.callback(handle.remove)
        stack.enter_context(hearing_marks(heard))
        outputs = module(*(torch.from_numpy(np.array(array)) for array in feed.values()))
    run.outputs = tuple(tensor.numpy() for tensor in outputs)
    return run


def _version(tensor: Tensor) -> int:
    """How often a tensor was changed in place. One of an inference mode has no count, and cannot be changed here."""
    return 0 if tensor.is_inference() else tensor._version  # noqa: SLF001 - torch has no other name for it


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in what a module takes or gives, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, ImageList):
        yield value.tensors
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from tensors_in(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from tensors_in(entry)
