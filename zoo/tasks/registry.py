"""The known tasks, by name: those of this package, those that other code registered, and installed ones."""

from collections.abc import Mapping

from zoo.entry_points import load_entry_points
from zoo.errors import InputError
from zoo.subpackages import import_subpackage, import_subpackages
from zoo.tasks.task import Task

ENTRY_POINTS = "zooport.tasks"
"""The group of entry points that name modules of other packages; importing one registers its tasks."""

SHIPPED = "zoo.tasks"
"""Every folder of it is a task. What proves a task, in a folder below, may need torch and is not imported."""

_TASKS: dict[str, type[Task]] = {}


def register_task(task: type[Task]) -> type[Task]:
    """A decorator: makes a task known under its `name` and under the name of its class.

    Raises InputError where another task has one of the two, and for OPTIONS that are no mapping.
    """
    if not isinstance(task.OPTIONS, Mapping):
        raise InputError(
            f'task "{task.name}" ({task.__module__}.{task.__qualname__}): OPTIONS is {task.OPTIONS!r}, expected a '
            'mapping, each name with its kind, for example {"exact": bool}'
        )
    for known in tuple(_TASKS.values()):
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
    import_subpackages(SHIPPED)
    load_entry_points(ENTRY_POINTS)
    return dict(sorted(_TASKS.items()))


def find_task(name: str) -> type[Task] | None:
    """The task of that name, or whose class has it, with its module or without; None for an unknown one.

    Installed ones are looked up last. Raises InputError where an entry point has that name and cannot be imported.
    """
    import_subpackage(SHIPPED, name)
    if (task := _named(name)) is not None:
        return task
    faults = load_entry_points(ENTRY_POINTS)
    task = _named(name)
    if task is None and name in faults:
        raise InputError(faults[name])
    return task


def _named(name: str) -> type[Task] | None:
    for task in tuple(_TASKS.values()):  # another thread may import one meanwhile
        if name in (task.name, task.__name__, f"{task.__module__}.{task.__name__}"):
            return task
    return None
