"""What a model does: its classes, its output contract, typed results, how they are drawn, saved and proved.

One folder for each task: its `task` and `result`, which are torch-free, and its `proof`, which is loaded where a
deployment is proved. Every folder registers its task; other code does the same with `register_task`.
"""

from zoo.tasks.building import build_task, input_kind_of
from zoo.tasks.class_info import ClassInfo
from zoo.tasks.output_role import OutputRole
from zoo.tasks.registry import find_task, known_tasks, register_task
from zoo.tasks.result import Result
from zoo.tasks.task import Task

__all__ = [
    "ClassInfo",
    "OutputRole",
    "Result",
    "Task",
    "build_task",
    "find_task",
    "input_kind_of",
    "known_tasks",
    "register_task",
]
