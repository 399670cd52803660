"""Which tensors the graph comparison uses: every input, several batch sizes, a second size where sizes are dynamic."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from pipeline.inputs.named_input import NamedInput
from zoo.input_kinds import InputKind
from zoo.input_kinds.proof import input_proof
from zoo.target import AxisRange, Target

ODD_BATCH = 5
LARGEST_BATCH = 8  # larger batches cost time and show nothing new


@dataclass(frozen=True)
class GraphInput:
    """The graph's inputs by name, ``arrays``, made of the ``images`` of these names.

    The first array is the one that holds the inputs themselves; for images ``images`` float32 [N, 3, H, W], RGB, 0..1,
    and ``image_sizes`` int64 [N, 2] (h, w) where the target has it.
    """

    images: tuple[str, ...]
    arrays: Mapping[str, NDArray[Any]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor that holds the inputs."""
        return next(iter(self.arrays.values())).shape


def graph_inputs(
    kind: InputKind, images: Sequence[NamedInput], target: Target, rule: Any, divisor: int = 1
) -> list[GraphInput]:
    """The tensors of all cases. ``images``: two or more of different content; ``rule``: the kind's, of the config.

    ``divisor``: of all heights and widths, or other sides, that the model takes.

    At the preferred size each image appears in a batch of the smallest allowed size, and one batch is made of every
    other size that is tried (see batch_sizes). A second size, which no stride divides unless the model asks for that,
    is tried where a side is dynamic. Where the graph takes the ends of its inputs, as image_sizes are, they end where
    their preprocessing ends them, and the largest batch is tried again with a different end of each.
    """
    batches = batch_sizes(target.batch)
    second = {axis: bounds.other(divisor) for axis, bounds in target.sides.items()}
    sizes = [target.preferred, *([] if second == target.preferred else [second])]

    def case(chosen: Sequence[int], size: Mapping[str, int]) -> GraphInput:
        cycled = [images[i % len(images)] for i in chosen]
        return stacked(kind, cycled, size, rule, image_sizes=target.image_sizes)

    cases = [
        case(chosen, size)
        for number, size in enumerate(sizes)
        for chosen in _choices(len(images) if number == 0 else 2, batches if number == 0 else batches[:2])
    ]
    if len(kind.specs(image_sizes=target.image_sizes)) > 1:
        largest = batches[-1]
        for start in range(0, max(2, largest), largest):
            chosen = range(start, start + largest)
            whole = case(chosen, sizes[0])
            cases.append(replace(whole, arrays=input_proof(kind).other_ends(whole.arrays, chosen)))
    return cases


def batch_sizes(axis: AxisRange) -> list[int]:
    """The batch sizes that are tried, in rising order: the smallest, the preferred, 2, and 5 or else the largest.

    At least two, where the batch is dynamic: one alone would not show that the graph has it as a constant.
    """
    odd = ODD_BATCH if ODD_BATCH in axis else axis.max
    wanted = {axis.min, axis.opt, 2, odd}
    sizes = sorted(size for size in wanted if size in axis and (size <= LARGEST_BATCH or size == axis.min))
    return [axis.min, axis.min + 1] if axis.dynamic and len(sizes) == 1 else sizes


def _choices(count: int, batches: Sequence[int]) -> Iterator[list[int]]:
    """Indices of the images of each batch; an index above the number of images starts again."""
    smallest = batches[0]
    for start in range(0, count, smallest):
        yield list(range(start, start + smallest))
    for number, size in enumerate(batches[1:], 1):
        yield list(range(number, number + size))


def stacked(
    kind: InputKind,
    images: Sequence[NamedInput],
    sizes: Mapping[str, int],
    rule: Any,
    *,
    image_sizes: bool,
) -> GraphInput:
    """The images as one batch whose sides have these ``sizes``, by the ``rule`` of the kind.

    ``image_sizes``: also where each image ends.
    """
    values = [image.value for image in images]
    arrays = input_proof(kind).graph_arrays(values, sizes, rule, image_sizes=image_sizes)
    return GraphInput(tuple(image.name for image in images), arrays)
