"""The loader of a training's batches."""

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

from torch.utils.data import DataLoader, Dataset

from pipeline.training.batch_worker import without_hang_ups

PREFETCHED = 8


class Batches(DataLoader[Any]):
    """All batches of a training, in order; one worker makes them while the cores train.

    `first`: the number of batches that were trained before. mmengine takes them again and throws them away; None stands
    in their place, because to make them takes as long as it took before.
    """

    def __init__(
        self,
        samples: Dataset[Any],
        batch_size: int,
        *,
        first: int = 0,
        collate: Callable[[Any], Any] | None = None,
    ) -> None:
        self.first = first
        super().__init__(
            samples,
            batch_size,
            sampler=range(first * batch_size, len(samples)),  # type: ignore[arg-type]  # all of ours have a length
            num_workers=1,
            collate_fn=collate,
            prefetch_factor=PREFETCHED,
            worker_init_fn=without_hang_ups,
        )

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # not torch's own iterator
        yield from repeat(None, self.first)
        yield from super().__iter__()
