"""Which family a model is of, and how families register themselves."""

from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from torch import nn

from zoo.entry_points import FAMILIES, load_entry_points
from zoo.errors import InputError
from zoo.families.family import Family
from zoo.families.generic import Generic

SHIPPED = "zoo.models"  # imported by name: the models import this module
GENERIC = Generic()

_by_class: dict[type[nn.Module] | str, Family] = {}  # a class, or the name of the package that it comes from
Kind = TypeVar("Kind", bound=type[Family])


def register(*classes: type[nn.Module] | str) -> Callable[[Kind], Kind]:
    """Register the decorated family for the models of these classes, and of their subclasses.

    A name is that of a package, and stands for all of its classes that have no family of their own: "timm". It need not
    be installed. Raises InputError where a class or a package has a family already.
    """

    def decorate(kind: Kind) -> Kind:
        family = kind()
        for one in classes:
            if one in _by_class:
                name = one if isinstance(one, str) else one.__name__
                raise InputError(
                    f"family {kind.__name__}: {name} already belongs to {type(_by_class[one]).__name__}; "
                    "register a subclass of the model"
                )
            _by_class[one] = family
        return kind

    return decorate


def family_of(model: nn.Module) -> Family:
    """The family of the model's class, or of the nearest one that it inherits from; the generic one for no family's."""
    _load()
    names = (name for kind in type(model).__mro__ for name in (kind, kind.__module__.partition(".")[0]))
    return next((_by_class[name] for name in names if name in _by_class), GENERIC)


def families() -> tuple[Family, ...]:
    """All that are registered, in the order of their registration."""
    _load()
    return tuple(dict.fromkeys(_by_class.values()))


def _load() -> None:
    """Import the zoo's own models and those of other packages; a broken one of these is left out."""
    import_module(SHIPPED)
    load_entry_points(FAMILIES)
