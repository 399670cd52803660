"""Which tensors the graph comparison uses: every image, several batch sizes, a second size where sizes are dynamic."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.images import NamedImage
from pipeline.parity.reference_input import reference_input
from zoo.target import AxisRange, Target

ODD_BATCH = 5
LARGEST_BATCH = 8  # larger batches cost time and show nothing new


@dataclass(frozen=True)
class GraphInput:
    """``tensor`` float32 [N, 3, H, W], RGB, 0..1, made of the ``images`` of these names."""

    images: tuple[str, ...]
    tensor: NDArray[np.float32]


def graph_inputs(images: Sequence[NamedImage], target: Target, preprocess: Mapping[str, Any]) -> list[GraphInput]:
    """The tensors of all cases. ``images``: two or more of different content; ``preprocess``: the config's.

    At the preferred size each image appears in a batch of the smallest allowed size, and one batch is made of every
    other size that is tried (see batch_sizes). A second size, which no stride
    divides, is tried where height or width is dynamic.
    """
    batches = batch_sizes(target.batch)
    sizes = list(dict.fromkeys([(target.height.opt, target.width.opt), (other(target.height), other(target.width))]))
    return [
        stacked([images[i % len(images)] for i in chosen], size, preprocess)
        for number, size in enumerate(sizes)
        for chosen in _choices(len(images) if number == 0 else 2, batches if number == 0 else batches[:2])
    ]


def batch_sizes(axis: AxisRange) -> list[int]:
    """The batch sizes that are tried, in rising order: the smallest, the preferred, 2, and 5 or else the largest."""
    odd = ODD_BATCH if ODD_BATCH in axis else axis.max
    wanted = {axis.min, axis.opt, 2, odd}
    return sorted(size for size in wanted if size in axis and (size <= LARGEST_BATCH or size == axis.min))


def other(axis: AxisRange) -> int:
    """A size of the axis besides the preferred one, odd where the range has room; the preferred one if it is fixed."""
    step = axis.opt // 4 + 3
    for size in (axis.opt + step | 1, axis.opt - step | 1, axis.max, axis.min):
        if size in axis and size != axis.opt:
            return size
    return axis.opt


def _choices(count: int, batches: Sequence[int]) -> Iterator[list[int]]:
    """Indices of the images of each batch; an index above the number of images starts again."""
    smallest = batches[0]
    for start in range(0, count, smallest):
        yield list(range(start, start + smallest))
    for number, size in enumerate(batches[1:], 1):
        yield list(range(number, number + size))


def stacked(images: Sequence[NamedImage], size: tuple[int, int], preprocess: Mapping[str, Any]) -> GraphInput:
    """The images as one batch at ``size`` (height, width), by the rules of ``preprocess``."""
    rule = preprocess.get("resize", "letterbox")
    sized = {**preprocess, "size": size, "resize": "letterbox" if rule == "keep" else rule}
    tensors = [reference_input(image.pixels, sized).tensor for image in images]
    return GraphInput(tuple(image.name for image in images), np.concatenate([tensor.numpy() for tensor in tensors]))
