"""Whether a model, and its graph by the target's exporter, take the sizes of a target: known before the model runs."""

from torch import nn

from zoo.errors import ExportError, InputError
from zoo.families.registry import family_of
from zoo.target import EXPORTERS, Target


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
                where = _in_a_range(axis, divisor) if bounds.dynamic else "preprocess.size"
                raise InputError(f"{axis} {size}: {kind} takes multiples of {divisor}; give {nearest} in {where}")
    return divisor


def _in_a_range(axis: str, divisor: int) -> str:
    """Where a bound of an axis that varies comes from, and what changes it."""
    return (
        f"the range of {axis} (--dynamic or export.inputs), one size in preprocess.size, or preprocess.size_divisor="
        f"{divisor}, which pads sides that follow from the image"
    )


def check_exporter(model: nn.Module, target: Target) -> None:
    """Raises ExportError where images have several sizes, and the exporter's graph would keep the traced one's."""
    if not target.one_size and (name := part_of_one_size(model, target.exporter)) is not None:
        others = [exporter for exporter in EXPORTERS if part_of_one_size(model, exporter) is None]
        raise needs_one_size(f"{name} by {target.exporter}", target, *others)


def part_of_one_size(model: nn.Module, exporter: str) -> str | None:
    """The class of the model, or of a part of it, whose graph by this exporter would keep the size of the traced image.

    None where there is none.
    """
    parts = (part for part in model.modules() if exporter in family_of(part).one_size_exporters(part))
    return next((type(part).__name__ for part in parts), None)


def needs_one_size(what: str, target: Target, *exporters: str) -> ExportError:
    """The refusal of a target whose images have several sizes. `exporters`: those that take any size."""
    sides = [axis for axis in ("height", "width") if axis in target.dynamic_axes]
    has = f"a dynamic {' and '.join(sides)}" if sides else "image_sizes, with a size for each image"
    fixed = "preprocess.size=(height, width), and neither --dynamic nor export.inputs of them"
    ways = [f"--exporter {exporter}" for exporter in exporters]
    ways.append(f"one size: {fixed}" if sides else "a target without image_sizes (--image-sizes, export.inputs)")
    return ExportError(
        f"{what} needs a fixed height and width, and the target has {has}: the graph would keep the traced size and be "
        f"silently wrong at any other; give {', or '.join(ways)}"
    )
