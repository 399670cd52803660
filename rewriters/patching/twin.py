"""A copy of a model for an exporter, which changes modules (train flags; dynamo puts fake parameters in)."""

import copy
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from operator import is_not
from types import CellType, FunctionType, MethodType
from typing import Any

from torch import Tensor, nn

from rewriters.patching.plain_weights import plain_weights
from zoo.errors import ExportError

_CONTAINERS = (nn.Module, dict, list, tuple, partial, MethodType, FunctionType)


def twin(module: nn.Module, *, own_tensors: bool = False) -> nn.Module:
    """Modules of its own, the same tensors unless `own_tensors`: another thread may be running this very model.

    Its hooks and other functions read and write what is the twin's. What cannot be copied stays the same: compiled
    functions (torch.jit.script), computed tensors, Python modules, locks; so do globals that functions name. Weights
    that parametrizations compute are plain ones. Raises ExportError for a module that cannot be copied.
    """
    held = list(_held(module, set()))
    functions = [one for one in held if isinstance(one, FunctionType)]
    kept: list[Any] = [] if own_tensors else [*module.parameters(), *module.buffers()]
    kept += [one for function in functions for one in _globals(function)]
    try:
        copied = _Copier(kept, functions)(module)
    except Exception:  # noqa: BLE001  # of anybody's class
        modules = [one for one in held if isinstance(one, nn.Module)]
        kept += [one for one in held if not isinstance(one, _CONTAINERS) and not _can_be_copied(one, modules)]
        try:
            copied = _Copier(kept, functions)(module)
        except Exception as error:
            raise ExportError(
                f"the model cannot be copied, and an exporter would change it: {type(error).__name__}: {error}; "
                "let copy.deepcopy take it"
            ) from error
    return plain_weights(copied)


def _held(value: object, seen: set[int]) -> Iterator[object]:
    """A value, and all that containers, modules and functions hold within."""
    if id(value) not in seen:
        seen.add(id(value))
        yield value
        for part in _parts(value):
            yield from _held(part, seen)


def _parts(value: object) -> Iterable[object]:
    parts: Iterable[object] = ()
    match value:
        case nn.Module():
            parts = vars(value).values()
        case dict():
            parts = value.values()
        case list() | tuple():
            parts = value
        case partial():
            parts = value.func, value.args, value.keywords
        case MethodType():
            parts = value.__func__, value.__self__
        case FunctionType():
            parts = *_contents(value.__closure__ or ()), value.__defaults__, value.__kwdefaults__, vars(value)
    return parts


def _contents(cells: Iterable[CellType]) -> Iterator[object]:
    for cell in cells:
        with suppress(ValueError):  # an empty one
            yield cell.cell_contents


def _globals(function: FunctionType) -> Iterator[object]:
    """Those that a function names; modules are the model's own."""
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if not isinstance(value, nn.Module | Tensor):
            yield value


def _can_be_copied(value: object, modules: Iterable[nn.Module]) -> bool:
    """Whether it can, but for the modules that it holds."""
    try:
        copy.deepcopy(value, {id(module): module for module in modules})
    except Exception:  # noqa: BLE001  # of anybody's class
        return False
    return True


class _Copier:
    """Deep copies with one memo. `functions`: those that get cells of their own, which deepcopy leaves as they are."""

    def __init__(self, kept: Iterable[object], functions: Iterable[FunctionType]) -> None:
        self._memo: dict[int, Any] = {id(one): one for one in kept}
        self._functions = {id(function) for function in functions if not _is_known(function)}
        self._bound: set[int] = set()

    def __call__(self, value: Any) -> Any:
        return self._rebound(copy.deepcopy(value, self._memo))

    def _rebound(self, value: Any) -> Any:
        """A copy with its functions, in place where it can be changed."""
        if id(value) in self._bound or self._memo.get(id(value)) is value:
            return value
        match value:
            case FunctionType() if id(value) in self._functions:
                return self._memo.get(id(value)) or self._function(value)
            case MethodType():
                return MethodType(self._rebound(value.__func__), value.__self__)
            case partial():
                parts = tuple(map(self._rebound, (value.func, value.args, value.keywords)))
                value.__setstate__((*parts, vars(value)))  # type: ignore[attr-defined]  # typeshed lacks it
            case tuple() if type(value) is tuple:
                parts = tuple(map(self._rebound, value))
                return parts if any(map(is_not, parts, value)) else value
            case nn.Module() | dict() | list():
                self._bound.add(id(value))
                items: Any = vars(value) if isinstance(value, nn.Module) else value
                for key in range(len(items)) if isinstance(items, list) else list(items):
                    if (part := self._rebound(items[key])) is not items[key]:
                        items[key] = part
        return value

    def _function(self, function: FunctionType) -> FunctionType:
        """The memo has it before its cells are filled, for it may be in one of them; functions may share cells."""
        before = function.__closure__ or ()
        cells = tuple(self._memo.setdefault(id(cell), CellType()) for cell in before)
        copied = FunctionType(function.__code__, function.__globals__, function.__name__, closure=cells)
        self._memo[id(function)] = copied
        for cell, old in zip(cells, before, strict=True):
            with suppress(ValueError):  # an empty one
                cell.cell_contents = self(old.cell_contents)
        copied.__defaults__, copied.__kwdefaults__, state = self(
            (function.__defaults__, function.__kwdefaults__, vars(function))
        )
        vars(copied).update(state)
        copied.__qualname__ = function.__qualname__
        return copied


def _is_known(function: FunctionType) -> bool:
    """Whether it is one of a Python module, which is the same for all models."""
    return getattr(sys.modules.get(function.__module__), "__dict__", {}).get(function.__name__) is function
