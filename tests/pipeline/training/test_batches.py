"""The batches of a training that goes on: those that were trained before are not made again."""

import torch
from torch.utils.data import Dataset

from pipeline.training.batches import Batches


class Numbers(Dataset[int]):
    """0 to 9; it cannot make what lies before `first`."""

    def __init__(self, first: int = 0) -> None:
        self.first = first

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        assert index >= self.first
        return index


def test_the_first_batches_are_not_made_again() -> None:
    whole = list(Batches(Numbers(), 4))
    assert [batch.tolist() for batch in whole] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    rest = list(Batches(Numbers(first=4), 4, first=1))
    assert rest[0] is None
    assert all(torch.equal(*pair) for pair in zip(rest[1:], whole[1:], strict=True))


def test_nothing_may_be_left() -> None:
    assert list(Batches(Numbers(first=10), 5, first=2)) == [None, None]
