"""The known tasks, by name: those of this package, those that other code registered, and installed ones."""

import functools
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from zoo.errors import InputError
from zoo.tasks.task import Task

ENTRY_POINTS = "zooport.tasks"
"""The group of entry points that name modules of other packages; importing one registers its tasks."""

_TASKS: dict[str, type[Task]] = {}


def register_task(task: type[Task]) -> type[Task]:
    """A decorator: makes a task known under its `name` and under the name of its class.

    Raises InputError where another task has one of the two.
    """
    for known in _TASKS.values():
        same_class = (known.__module__, known.__qualname__) == (task.__module__, task.__qualname__)
        if not same_class and (known.name == task.name or known.__name__ == task.__name__):
            raise InputError(
                f'task "{task.name}" ({task.__module__}.{task.__qualname__}): {known.__module__}.{known.__qualname__} '
                "has the same name; rename one of them"
            )
    _TASKS[task.name] = task
    return task


def known_tasks() -> Mapping[str, type[Task]]:
    """All tasks, in the order of their names. Imports those of this package and the installed ones, once."""
    _load_shipped()
    _load_installed()
    return dict(sorted(_TASKS.items()))


def find_task(name: str) -> type[Task] | None:
    """The task of that name, or whose class has it, with its module or without; None for an unknown one.

    Installed ones are looked up last.
    """
    _load_shipped()
    return _named(name) or (_load_installed() or _named(name))


def _named(name: str) -> type[Task] | None:
    for task in _TASKS.values():
        if name in (task.name, task.__name__, f"{task.__module__}.{task.__name__}"):
            return task
    return None


@functools.cache
def _load_shipped() -> None:
    """Every folder of zoo.tasks is a task."""
    package = import_module("zoo.tasks")
    for module in iter_modules(package.__path__, "zoo.tasks."):
        if module.ispkg:
            import_module(module.name)


@functools.cache
def _load_installed() -> None:
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # whatever another package's module raises
            package = entry.dist.name if entry.dist is not None else "a package"
            raise InputError(
                f"entry point {entry.name} of {package} ({ENTRY_POINTS}): {entry.value} cannot be imported: "
                f"{type(error).__name__}: {error}; fix or uninstall {package}"
            ) from error
