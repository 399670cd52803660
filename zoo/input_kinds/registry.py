"""The known input kinds, by name."""

import functools
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from zoo.errors import InputError, nearest
from zoo.input_kinds.input_kind import InputKind
from zoo.input_specs import IMAGES, SETTINGS

_KINDS: dict[str, InputKind] = {}
Kind = TypeVar("Kind", bound=type[InputKind])


def register_input_kind(kind: Kind) -> Kind:
    """A decorator: makes a kind known under its `name`. Raises InputError where another one has it."""
    known = type(_KINDS.get(kind.name))
    if kind.name in _KINDS and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise InputError(
            f'input kind "{kind.name}" ({kind.__module__}.{kind.__qualname__}): {known.__module__}.'
            f"{known.__qualname__} has the same name; rename one of them"
        )
    _KINDS[kind.name] = kind()
    return kind


def input_kind(name: str) -> InputKind:
    """The kind of that name. Raises InputError that has the nearest names."""
    _load_shipped()
    if name not in _KINDS:
        raise InputError(f'unknown input kind "{name}"; {nearest(name, _KINDS)}')
    return _KINDS[name]


def input_axes(name: str) -> dict[int, str]:
    """The axes of a graph's input that may vary, place -> name, as its kind declares them; none of a setting.

    An input that no kind has is shaped as images are, such as the feature map of a model's part.
    """
    _load_shipped()
    if name in SETTINGS:
        return {}
    specs = {spec.name: spec for kind in _KINDS.values() for spec in kind.inputs}
    return specs.get(name, IMAGES).axes


@functools.cache
def _load_shipped() -> None:
    """Every folder of zoo.input_kinds is a kind."""
    package = import_module("zoo.input_kinds")
    for module in iter_modules(package.__path__, "zoo.input_kinds."):
        if module.ispkg:
            import_module(module.name)
