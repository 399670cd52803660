"""Which family a model is of, and how families register themselves."""

import functools
import logging
from collections.abc import Callable
from importlib import import_module, metadata
from typing import TypeVar

from torch import nn

from zoo.errors import InputError
from zoo.families.family import Family
from zoo.families.generic import Generic

ENTRY_POINTS = "zooport.families"
"""The group of entry points that name modules of other packages; importing one registers its families."""
SHIPPED = "zoo.models"  # imported by name: the models import this module
GENERIC = Generic()

_by_class: dict[type[nn.Module], Family] = {}
Kind = TypeVar("Kind", bound=type[Family])

logger = logging.getLogger(__name__)


def register(*classes: type[nn.Module]) -> Callable[[Kind], Kind]:
    """Register the decorated family for the models of these classes, and of their subclasses.

    Raises InputError where a class has a family already.
    """

    def decorate(kind: Kind) -> Kind:
        family = kind()
        for one in classes:
            if one in _by_class:
                raise InputError(
                    f"family {kind.__name__}: {one.__name__} is of {type(_by_class[one]).__name__} already; register a "
                    "subclass of the model"
                )
            _by_class[one] = family
        return kind

    return decorate


def family_of(model: nn.Module) -> Family:
    """The family of the model's class, or of the nearest one that it inherits from; the generic one for no family's."""
    load_families()
    return next((_by_class[one] for one in type(model).__mro__ if one in _by_class), GENERIC)


def families() -> tuple[Family, ...]:
    """All that are registered, in the order of their registration."""
    load_families()
    return tuple(dict.fromkeys(_by_class.values()))


@functools.cache
def load_families() -> None:
    """Import the zoo's own models and the entry points of other packages, once.

    An entry point that cannot be imported is logged as a warning, and left out: the model may be another one's.
    """
    import_module(SHIPPED)
    for point in metadata.entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except Exception as error:  # noqa: BLE001 - whatever another package raises
            package = point.dist.name if point.dist is not None else "a package"
            logger.warning(
                "entry point %s of %s (%s): %s cannot be imported: %s: %s; fix or uninstall %s",
                *(point.name, package, ENTRY_POINTS, point.value, type(error).__name__, error, package),
            )
