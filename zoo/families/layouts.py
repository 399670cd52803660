"""The layouts of all families, by name and by the outputs that show them."""

from collections.abc import Collection

from zoo.errors import InputError, nearest
from zoo.families.layout import Layout
from zoo.families.registry import families
from zoo.target import DEFAULT_LAYOUT, Target


def layouts() -> dict[str, Layout]:
    """All but the zoo's own, by name."""
    return {name: layout for family in families() for name, layout in family.layouts.items()}


def find_layout(name: str) -> Layout:
    """The layout of this name. Raises InputError that has the nearest names."""
    known = layouts()
    if name not in known:
        raise InputError(f'unknown layout "{name}"; {nearest(name, (DEFAULT_LAYOUT, *known))}')
    return known[name]


def check_layout(target: Target) -> None:
    """Raises InputError for an unknown layout, and for a target that it does not fit."""
    if target.layout != DEFAULT_LAYOUT:
        find_layout(target.layout).check(target)


def layout_of(outputs: Collection[str]) -> str:
    """The name of the layout that has outputs of these names; the zoo's own for all other outputs."""
    names = (name for name, layout in layouts().items() if {*layout.outputs} == {*outputs})
    return next(names, DEFAULT_LAYOUT)
