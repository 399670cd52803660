"""Rules of a task for the sizes of images in a padded batch."""

from zoo.errors import InputError
from zoo.preprocess import Preprocess
from zoo.tasks import Task

WITHOUT_SIZES = "leave out --image-sizes and export.inputs.image_sizes"


def check_image_sizes(task: Task, rule: Preprocess) -> None:
    """Raises InputError where the task's models take no sizes, or where every image would fill its whole tensor."""
    if not task.takes_image_sizes:
        raise InputError(
            f"image_sizes with task {task.name}: its models take a batch of one size, and the deployment cuts the "
            f"padding off its result by itself; {WITHOUT_SIZES}"
        )
    if rule.resize == "stretch" or rule.crops:
        raise InputError(
            f'image_sizes with preprocess resize "{rule.resize}": every image fills its tensor, so the input has no '
            f'use; {WITHOUT_SIZES}, or set resize="letterbox"'
        )
