"""Rules of a task and a model for the sizes of images and tensors."""

from torch import nn

from zoo.errors import InputError
from zoo.families import family_of
from zoo.preprocess import Preprocess
from zoo.target import Target
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


def checked_divisor(model: nn.Module, target: Target) -> int:
    """What divides every height and width, or other side, that the model takes.

    Raises InputError where the target has another size, or one that the model's family refuses.
    """
    family, kind = family_of(model), type(model).__name__
    family.check_sides(model, target.sides)
    divisor = family.size_divisor(model)
    for axis, bounds in target.sides.items():
        for size in (bounds.min, bounds.opt, bounds.max):
            if size % divisor:
                below = size // divisor * divisor
                nearest = f"{below} or {below + divisor}" if below else f"{divisor}"
                raise InputError(f"{axis} {size}: {kind} takes multiples of {divisor}; give {nearest}")
    return divisor
