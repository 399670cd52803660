"""Which tensors the graph comparison uses: every image, several batch sizes, a second size where sizes are dynamic."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.images.named_image import NamedImage
from zoo.input_kinds.image.reference_input import reference_input
from zoo.input_specs import IMAGE_SIZES, IMAGES
from zoo.target import AxisRange, Target

ODD_BATCH = 5
LARGEST_BATCH = 8  # larger batches cost time and show nothing new
# The parts (of the height, of the width) of a tensor that the images of the batch of valid regions fill, in turn.
REGIONS = ((1.0, 1.0), (1.0, 0.45), (0.6, 1.0), (0.8, 0.75))


@dataclass(frozen=True)
class GraphInput:
    """The graph's inputs by name, ``arrays``, made of the ``images`` of these names.

    ``images`` float32 [N, 3, H, W], RGB, 0..1; ``image_sizes`` int64 [N, 2] (h, w) where the target has it.
    """

    images: tuple[str, ...]
    arrays: Mapping[str, NDArray[Any]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor ``images``."""
        return self.arrays[IMAGES.name].shape


def graph_inputs(
    images: Sequence[NamedImage], target: Target, preprocess: Mapping[str, Any], divisor: int = 1
) -> list[GraphInput]:
    """The tensors of all cases. ``images``: two or more of different content; ``preprocess``: the config's.

    ``divisor``: of all heights and widths that the model takes.

    At the preferred size each image appears in a batch of the smallest allowed size, and one batch is made of every
    other size that is tried (see batch_sizes). A second size, which no stride divides unless the model asks for that,
    is tried where height or width is dynamic. Where the target has image_sizes, the images end where their
    preprocessing ends them, and the largest batch is tried again with a different end of each image: see REGIONS.
    """
    batches = batch_sizes(target.batch)
    second = (target.height.other(divisor), target.width.other(divisor))
    sizes = list(dict.fromkeys([(target.height.opt, target.width.opt), second]))

    def case(chosen: Sequence[int], size: tuple[int, int]) -> GraphInput:
        return stacked([images[i % len(images)] for i in chosen], size, preprocess, image_sizes=target.image_sizes)

    cases = [
        case(chosen, size)
        for number, size in enumerate(sizes)
        for chosen in _choices(len(images) if number == 0 else 2, batches if number == 0 else batches[:2])
    ]
    if target.image_sizes:
        largest = batches[-1]
        for start in range(0, max(2, largest), largest):
            chosen = range(start, start + largest)
            cases.append(_ending(case(chosen, sizes[0]), [REGIONS[i % len(REGIONS)] for i in chosen]))
    return cases


def batch_sizes(axis: AxisRange) -> list[int]:
    """The batch sizes that are tried, in rising order: the smallest, the preferred, 2, and 5 or else the largest."""
    odd = ODD_BATCH if ODD_BATCH in axis else axis.max
    wanted = {axis.min, axis.opt, 2, odd}
    return sorted(size for size in wanted if size in axis and (size <= LARGEST_BATCH or size == axis.min))


def _choices(count: int, batches: Sequence[int]) -> Iterator[list[int]]:
    """Indices of the images of each batch; an index above the number of images starts again."""
    smallest = batches[0]
    for start in range(0, count, smallest):
        yield list(range(start, start + smallest))
    for number, size in enumerate(batches[1:], 1):
        yield list(range(number, number + size))


def stacked(
    images: Sequence[NamedImage], size: tuple[int, int], preprocess: Mapping[str, Any], *, image_sizes: bool
) -> GraphInput:
    """The images as one batch at ``size`` (height, width), by the rules of ``preprocess``.

    ``image_sizes``: also where each of them ends.
    """
    rule = preprocess.get("resize", "letterbox")
    sized = {**preprocess, "size": size, "resize": "letterbox" if rule == "keep" else rule}
    placed = [reference_input(image.pixels, sized) for image in images]
    arrays: dict[str, NDArray[Any]] = {IMAGES.name: np.concatenate([entry.tensor.numpy() for entry in placed])}
    if image_sizes:
        arrays[IMAGE_SIZES.name] = np.array([entry.resized for entry in placed], np.int64)
    return GraphInput(tuple(image.name for image in images), arrays)


def _ending(entry: GraphInput, regions: Sequence[tuple[float, float]]) -> GraphInput:
    """The same tensor, whose images fill these parts of it: what lies outside is image that must not matter."""
    sizes = (np.array(regions) * entry.shape[2:]).astype(np.int64).clip(min=1)
    return replace(entry, arrays={**entry.arrays, IMAGE_SIZES.name: sizes})
