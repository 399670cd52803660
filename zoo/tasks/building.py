"""Building a task from its fields."""

from collections.abc import Mapping
from typing import Any

from zoo.entry_points import entry_point_faults
from zoo.errors import InputError, nearest
from zoo.input_kinds import InputKind, input_kind
from zoo.tasks.registry import ENTRY_POINTS, find_task, known_tasks
from zoo.tasks.task import Task


def build_task(fields: Mapping[str, Any]) -> Task:
    """From a config's `dict(type="Detection", classes=[...])`, or a manifest's, whose type is the task's name.

    Each class is a ClassInfo or a mapping with `name` and `category_id`; the task's own OPTIONS are True or False, one
    of some names, or a list of names. Raises InputError for an unknown type or key, naming the nearest, and for an
    option of another type.
    """
    options = dict(fields)
    kind = options.pop("type", None)
    task = find_task(kind) if isinstance(kind, str) else None
    if task is None:
        tasks = known_tasks()
        names = [*(known.__name__ for known in tasks.values()), *tasks]
        if kind is None:
            raise InputError(f"task: no type; give one of {', '.join(names)}")
        raise InputError(f'unknown task "{kind}"; {nearest(str(kind), names)}{entry_point_faults(ENTRY_POINTS)}')
    classes = options.pop("classes", ())
    for key, value in options.items():
        if key not in task.OPTIONS:
            raise InputError(
                f'task {kind}: unknown key "{key}"; {nearest(str(key), ["type", "classes", *task.OPTIONS])}'
            )
        options[key] = _option(f"task {kind}: {key}", task.OPTIONS[key], value)
    return task(classes, **options)


def _option(what: str, kind: type | tuple[str, ...], value: object) -> Any:
    if isinstance(kind, tuple):
        if value not in kind:
            raise InputError(f"{what}: got {value!r}, expected {' or '.join(map(repr, kind))}")
        return value
    if kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"{what}: got {value!r}, expected True or False")
        return value
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise InputError(f'{what}: got {value!r}, expected a list of names, for example ["embedding", "heatmap"]')
    return tuple(value)


def input_kind_of(name: object) -> InputKind:
    """What the models of a task take, by the task's name; images where there is no such task, as `build_task` says."""
    task = find_task(name) if isinstance(name, str) else None
    return input_kind((task or Task).input_kind)
