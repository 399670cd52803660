"""Whether a deployment's manifest says what the config says: what no image can show, or only some.

A detector's labels are numbers, and two names that were swapped change none of them.
"""

from collections.abc import Iterator
from typing import Any

from zoo.manifest import Manifest
from zoo.tasks import Task


def manifest_failures(manifest: Manifest, task: Task, preprocess: Any) -> Iterator[str]:
    """Words for each field that differs from the config's task and preprocessing."""
    if manifest.task != task.name:
        yield f'task "{manifest.task}", the config has "{task.name}"'
    options = dict(manifest.task_options)
    if options != dict(task.options):
        yield f"task_options {options}, the config has {dict(task.options)}"
    if len(manifest.classes) != len(task.classes):
        yield f"{len(manifest.classes)} classes, the config has {len(task.classes)}"
    for label, (ours, theirs) in enumerate(zip(task.classes, manifest.classes, strict=False)):
        if ours != theirs:
            yield f"class {label} is {_class(theirs)}, the config has {_class(ours)}"
    expected, actual = preprocess.to_dict(), manifest.preprocess.to_dict()
    for name in expected:
        if actual[name] != expected[name]:
            yield f"preprocess.{name} is {actual[name]!r}, the config has {expected[name]!r}"


def _class(info: tuple[str, int | None]) -> str:
    name, category = info
    return f'"{name}" with category_id {category}'
