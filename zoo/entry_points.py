"""Installed packages that extend zooport: importing the module of an entry point registers what is in it."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from zoo.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint  # whose import is slow, and a deployment loads without it

FAMILIES = "zooport.families"
"""The group whose modules register families of models, and models, data sets and metrics."""


def load_entry_point(entry: "EntryPoint") -> None:
    """Import what the entry point names. Raises InputError where that fails, whatever it raises."""
    try:
        entry.load()
    except (Exception, SystemExit) as error:
        package = entry.dist.name if entry.dist is not None else "a package"
        reason = " ".join(str(error).split())
        raise InputError(
            f"entry point {entry.name} of {package} ({entry.group}): {entry.value} cannot be imported: "
            f"{type(error).__name__}: {reason}; fix or uninstall {package}"
        ) from error


@cache
def load_entry_points(group: str, load: Callable[["EntryPoint"], None] = load_entry_point) -> Mapping[str, str]:
    """Load all entry points of a group, once in a process.

    One that `load` refuses is logged as a warning and left out, so that a broken package stops nobody who does not
    need it. Returns what is wrong with those, by their names, for an error where one of them is asked for.
    """
    import logging
    from importlib.metadata import entry_points

    faults = {}
    for entry in entry_points(group=group):
        try:
            load(entry)
        except InputError as error:
            logging.getLogger(__name__).warning("%s", error)
            faults[entry.name] = str(error)
    return faults


def entry_point_faults(group: str) -> str:
    """The end of an error about an unknown name: what is wrong with packages of the group, one of which may have it."""
    return "".join(f"; {fault}" for fault in load_entry_points(group).values())
