"""Where the graph's input `image_sizes` is of use."""

from zoo.errors import InputError
from zoo.preprocess import Preprocess
from zoo.tasks import Detection, Task

WITHOUT = "leave out --image-sizes and export.inputs.image_sizes"


def check_image_sizes(task: Task, rule: Preprocess) -> None:
    """Raises InputError where the task's models take no sizes, or where every image would fill its whole tensor."""
    if not isinstance(task, Detection):
        raise InputError(
            f"image_sizes with task {task.name}: its models take a batch of one size, and the deployment cuts the "
            f"padding off its result by itself; {WITHOUT}"
        )
    if rule.resize == "stretch":
        raise InputError(
            'image_sizes with preprocess resize "stretch": every image fills its tensor, so there is nothing to say; '
            f'{WITHOUT}, or set resize="letterbox"'
        )
