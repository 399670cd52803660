"""Building a task from its fields."""

from collections.abc import Mapping
from typing import Any

from zoo.errors import InputError, nearest
from zoo.tasks.detection import Detection
from zoo.tasks.instance_segmentation import InstanceSegmentation
from zoo.tasks.keypoint_detection import KeypointDetection
from zoo.tasks.semantic_segmentation import SemanticSegmentation
from zoo.tasks.super_resolution import SuperResolution
from zoo.tasks.task import Task

TASKS: Mapping[str, type[Task]] = {
    task.name: task
    for task in (Detection, InstanceSegmentation, KeypointDetection, SemanticSegmentation, SuperResolution)
}


def build_task(fields: Mapping[str, Any]) -> Task:
    """From a config's `dict(type="Detection", classes=[...])`, or a manifest's, whose type is the task's name.

    Each class is a ClassInfo or a mapping with `name` and `category_id`; the task's own OPTIONS are True or False.
    Raises InputError for an unknown type or key, naming the nearest, and for an option of another type.
    """
    known = {task.__name__: task for task in TASKS.values()} | dict(TASKS)
    options = dict(fields)
    kind = options.pop("type", None)
    if kind is None:
        raise InputError(f"task: no type; give one of {', '.join(known)}")
    if kind not in known:
        raise InputError(f'unknown task "{kind}"; {nearest(str(kind), known)}')
    task = known[kind]
    classes = options.pop("classes", ())
    for key, value in options.items():
        if key not in task.OPTIONS:
            raise InputError(
                f'task {kind}: unknown key "{key}"; {nearest(str(key), ["type", "classes", *task.OPTIONS])}'
            )
        if not isinstance(value, bool):
            raise InputError(f"task {kind}: {key}: got {value!r}, expected True or False")
    return task(classes, **options)
