"""Which branches and loops go another way for another input, and which only stand before one that does."""

import torch
from torch import Tensor, nn

from pipeline.doctor.branches import count_lines, parted


class EachRow(nn.Module):
    """Two branches that always go the same way, before a comprehension and before a loop."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            return x
        rows = [row * 2 for row in x]
        if len(rows) == 0:
            return x
        for place in range(len(rows)):
            rows[place] = rows[place] + 1
        while x.sum() > 1:
            x = x / 2
        return torch.stack(rows) + (x if x.sum() > 0 else -x)


def found(one: Tensor, two: Tensor) -> list[tuple[str, str]]:
    module = EachRow().eval()
    runs = [count_lines(module, {"x": x}) for x in (one, two)]
    return [(place.code, kind) for place, kind in parted(*runs)]


def test_a_loop_of_other_turns_is_found_and_what_stands_before_it_is_not() -> None:
    assert found(torch.zeros(2, 4), torch.zeros(3, 4)) == [("for place in range(len(rows)):", "loop")]


def test_a_while_that_goes_by_numbers_is_found() -> None:
    assert found(torch.zeros(2, 4), torch.ones(2, 4)) == [("while x.sum() > 1:", "loop")]


def test_the_same_way_is_no_finding() -> None:
    assert found(torch.zeros(2, 4), torch.full((2, 4), 0.01)) == []
