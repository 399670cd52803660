"""Super-resolution takes images at their own size."""

from zoo.errors import InputError
from zoo.preprocess import Preprocess
from zoo.tasks import Task


def check_own_size(task: Task, rule: Preprocess) -> None:
    """Raises InputError where the images of a super-resolution model would be resized before they are enlarged."""
    if task.name == "super-resolution" and rule.resize != "keep":
        raise InputError(
            f'preprocess resize "{rule.resize}" with task {task.name}: the result would be that of another image; '
            'give preprocess=dict(resize="keep", size_divisor=1) and ranges for height and width'
        )
