"""The known input kinds, by name."""

from collections.abc import Collection
from typing import TypeVar

from zoo.entry_points import load_entry_points
from zoo.errors import InputError, nearest
from zoo.input_kinds.input_kind import InputKind
from zoo.input_specs import IMAGES, SETTINGS
from zoo.subpackages import import_subpackage, import_subpackages

ENTRY_POINTS = "zooport.input_kinds"
"""The group of entry points that name modules of other packages; importing one registers its kinds."""

SHIPPED = "zoo.input_kinds"
"""Every folder of it is a kind."""

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
    """The kind of that name; installed ones are looked up last.

    Raises InputError that has the nearest names, or says why the entry point of that name cannot be imported.
    """
    import_subpackage(SHIPPED, name)
    if name in _KINDS:
        return _KINDS[name]
    faults = load_entry_points(ENTRY_POINTS)
    if name not in _KINDS:
        raise InputError(faults.get(name) or f'unknown input kind "{name}"; {nearest(name, _KINDS)}')
    return _KINDS[name]


def kind_of_inputs(names: Collection[str]) -> InputKind | None:
    """The kind whose inputs a graph with inputs of these names takes; None where that is no kind's.

    Those that are registered already come first, such as that of the task; installed ones are looked up last.
    """
    if (registered := _known_kind(names)) is not None:
        return registered
    import_subpackages(SHIPPED)
    if (shipped := _known_kind(names)) is not None:
        return shipped
    load_entry_points(ENTRY_POINTS)
    return _known_kind(names)


def _known_kind(names: Collection[str]) -> InputKind | None:
    kinds = tuple(_KINDS.values())  # another thread may import one meanwhile
    return next((kind for kind in kinds if kind.inputs[0].name in names), None)


def input_axes(name: str) -> dict[int, str]:
    """The axes of a graph's input that may vary, place -> name, as its kind declares them; none of a setting.

    An input that no kind has is shaped as images are, such as the feature map of a model's part.
    """
    if name in SETTINGS:
        return {}
    import_subpackages(SHIPPED)
    load_entry_points(ENTRY_POINTS)
    specs = {spec.name: spec for kind in tuple(_KINDS.values()) for spec in (*kind.inputs, *kind.host_inputs)}
    return specs.get(name, IMAGES).axes
