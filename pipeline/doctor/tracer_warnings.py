"""What a model does when it runs eagerly: its operators, and where it leaves what an exporter can record."""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from pipeline.doctor.source_location import SourceLocation, innermost

TO_PYTHON = ("__bool__", "__int__", "__float__", "__index__", "item", "tolist", "numpy", "__array__")
ASSIGNMENT = "__setitem__"
SORTED = {"aten::topk": 2, "aten::sort": 1}
"""Operators whose order of equal numbers is not promised, and which of their arguments is the axis."""

UNIQUE = ("aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive")
"""Operators whose result has as many elements as numbers differ."""

SELECTING = ("torchvision::nms",)
"""Operators whose result's size goes by numbers, beside those that torch marks."""


@dataclass
class TracerWarnings:
    """Places, each with how often: of tensors that became Python values, of assignments to a part of a tensor, of ties,
    of rows that a boolean mask chose.

    `operators`: where each is called from, as torch names them without the overload, "aten::sort"; `values`: what the
    tensors became; `sized_by_numbers`: whether a tensor's numbers decided the size of another, as a mask does;
    `numbers_given`: how many Python numbers are among the outputs.
    """

    conversions: dict[SourceLocation, int] = field(default_factory=lambda: defaultdict(int))
    assignments: dict[SourceLocation, int] = field(default_factory=lambda: defaultdict(int))
    ties: dict[SourceLocation, int] = field(default_factory=lambda: defaultdict(int))
    masks: dict[SourceLocation, int] = field(default_factory=lambda: defaultdict(int))
    operators: dict[str, list[SourceLocation]] = field(default_factory=lambda: defaultdict(list))
    values: dict[SourceLocation, list[str]] = field(default_factory=lambda: defaultdict(list))
    sized_by_numbers: bool = False
    numbers_given: int = 0


def watch(module: nn.Module, feed: Mapping[str, Tensor], *, operators: bool = True) -> TracerWarnings:
    """Run the module once. What it raises is raised. `operators`: see these as well, which takes longer."""
    watched = TracerWarnings()
    with torch.no_grad(), _Functions(watched), _Operators(watched) if operators else nullcontext():
        outputs = module(*(tensor.clone() for tensor in feed.values()))
    watched.numbers_given = sum(isinstance(leaf, int | float) for leaf in tree_leaves(outputs))
    return watched


class _Functions(TorchFunctionMode):
    """Sees torch's functions and methods as the model calls them."""

    def __init__(self, watched: TracerWarnings) -> None:
        super().__init__()
        self.watched = watched

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        seen = (
            self.watched.conversions if name in TO_PYTHON else self.watched.assignments if name == ASSIGNMENT else None
        )
        place = _caller() if seen is not None else None
        if seen is not None and place is not None:
            seen[place] += 1
        result = func(*args, **(kwargs or {}))
        if place is not None and name in TO_PYTHON:
            self.watched.values[place].append(repr(result))
        return result


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own
    """Sees the operators that the functions become."""

    def __init__(self, watched: TracerWarnings) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.watched = watched

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: Any = (), kwargs: Any = None) -> Any:
        name = str(func.name())
        result = func(*args, **(kwargs or {}))
        if torch.Tag.dynamic_output_shape in func.tags or name in SELECTING:
            self.watched.sized_by_numbers = True
        if (place := _caller()) is not None:
            known = self.watched.operators[name.partition(".")[0]]
            known += [place] if place not in known else []
            if name == "aten::index.Tensor" and any(_is_mask(index) for index in args[1]):
                self.watched.masks[place] += 1
            if name in SORTED and _tied(args[0], result[0], args[SORTED[name]] if len(args) > SORTED[name] else -1):
                self.watched.ties[place] += 1
        return result


def _is_mask(index: Tensor | None) -> bool:
    return index is not None and index.dtype in (torch.bool, torch.uint8)


def _tied(scores: Tensor, chosen: Tensor, axis: int) -> bool:
    """Whether two of the chosen are equal, or the last of them and one that was not chosen."""
    if not chosen.numel() or not chosen.dim():
        return False
    last = chosen.narrow(axis, chosen.shape[axis] - 1, 1)
    left_out = (scores == last).sum(axis) > (chosen == last).sum(axis)
    return bool((chosen.diff(dim=axis) == 0).any() or left_out.any())


def _caller() -> SourceLocation | None:
    """The innermost line of the model's source on this thread's stack."""
    stack = []
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # torch calls a mode without a frame to start from
    while frame is not None:
        stack.append((frame.f_code.co_filename, frame.f_lineno))
        if frame.f_code is watch.__code__:  # what called us is not the model
            break
        frame = frame.f_back
    return innermost(reversed(stack))
