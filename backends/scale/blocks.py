"""The plan of a large run: blocks of inputs, each computed by one actor and kept in one file."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from backends.scale.inputs import Inputs

LEAST, MOST = 32, 10_000  # images of a block
FILES = 400  # of a run, as far as these bounds allow
BLOCKS_EACH = 4  # of an actor, at least, so that all of them end at about the same time


@dataclass(frozen=True)
class Block:
    """`number`: from 0, in the order of the inputs."""

    number: int
    inputs: tuple[Inputs, ...]

    @property
    def name(self) -> str:
        """For messages: its number, its first and its last image."""
        ends = dict.fromkeys((self.inputs[0].first_label, self.inputs[-1].last_label))
        return f"block {self.number} ({' to '.join(ends)})"

    @property
    def images(self) -> int:
        """How many it has."""
        return sum(each.images for each in self.inputs)


def usual_size(images: int) -> int:
    """Of the blocks of a run: large enough for few files, small enough that a killed run repeats little."""
    return max(LEAST, min(MOST, -(-images // FILES)))


def usual_piece(images: int, actors: int) -> int:
    """The most rows of a row group that stay in one block: each piece of it is read from the first row of the group.

    More than `usual_size`, as long as each actor has a few blocks.
    """
    return max(usual_size(images), min(MOST, -(-images // (BLOCKS_EACH * actors))))


def in_blocks(inputs: Iterable[Inputs], size: int, piece: int | None = None) -> Iterator[Block]:
    """Blocks of at most `size` images, or of one piece of a row group, of at most `piece` rows (None: `size`)."""
    number, count = 0, 0
    held: list[Inputs] = []
    for each in inputs:
        for part in _cut(each, piece or size):
            if held and count + part.images > size:
                yield Block(number, tuple(held))
                number, held, count = number + 1, [], 0
            held.append(part)
            count += part.images
    if held:
        yield Block(number, tuple(held))


def row_reads(inputs: Iterable[Inputs], piece: int) -> float:
    """How often a row of a Parquet file is read, on average, where row groups are cut into such pieces; 1: once."""
    rows = reads = 0
    for each in inputs:
        if each.column is not None:
            rows += each.images
            reads += sum(part.first + part.images for part in _cut(each, piece))
    return reads / rows if rows else 1.0


def limited(inputs: Iterable[Inputs], most: int | None) -> Iterator[Inputs]:
    """The first `most` images (None: all)."""
    left = most
    for each in inputs:
        if left is None:
            yield each
        elif left > 0:
            yield each._replace(images=min(each.images, left))
            left -= each.images


def _cut(inputs: Inputs, size: int) -> Iterator[Inputs]:
    """Rows of a Parquet file, `size` at a time."""
    for done in range(0, inputs.images, size):
        count = min(size, inputs.images - done)
        yield inputs._replace(first=inputs.first + done, row=inputs.row + done, images=count)
