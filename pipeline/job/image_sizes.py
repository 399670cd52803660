"""Rules of a task and a model for the sizes of images and tensors."""

from torch import nn

from zoo.errors import InputError
from zoo.families import family_of
from zoo.preprocess import Preprocess
from zoo.target import Target
from zoo.tasks import Task

SIDES = ("height", "width")
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
    only, divisor = family.only_size(model), family.size_divisor(model)
    for axis, bounds in target.sides.items():
        takes = None if only is None else dict(zip(SIDES, only, strict=True)).get(axis)
        for size in (bounds.min, bounds.opt, bounds.max):
            if takes is not None and size != takes:
                raise InputError(
                    f"{axis} {size}: this {kind} takes images of {only[0]}x{only[1]} alone; give preprocess size "  # type: ignore[index]
                    f"{only} and no other height or width, or build the model for another size"
                )
            if size % divisor:
                below = size // divisor * divisor
                nearest = f"{below} or {below + divisor}" if below else f"{divisor}"
                raise InputError(f"{axis} {size}: {kind} takes multiples of {divisor}; give {nearest}")
    return divisor
