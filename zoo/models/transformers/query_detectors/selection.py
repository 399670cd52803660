"""The selection of queries: the places of an encoder's maps that have the K best scores.

Where the K-th score and the next one are nearer than rounding, PyTorch and a backend may select differently, and both
are right. A query attends to all others, so no detection says whether that has happened: the model is run again with
each other selection that rounding allows. Nothing else is excused.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import combinations, islice
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

TOPK = (torch.topk, Tensor.topk)
MAX_SELECTIONS = 32  # other selections that are tried; each is a run of the model
Result = TypeVar("Result")


class Selection(NamedTuple):
    """Of image number `image`, the places `chosen` of those that are `tied`, in the selection number `call`."""

    call: int
    image: int
    tied: tuple[int, ...]
    chosen: tuple[int, ...]


def other_selections(
    model: Any, run: Callable[[], Result], tolerance: float
) -> Iterator[tuple[int, str, Callable[[], Result]]]:
    """Each other selection of `run`, which calls `model`: image, reason, and what runs it with that selection.

    `tolerance`: how far scores may be off, as a part of their range.
    """
    with _watched(model) as selector:
        run()
    for call, (scores, most) in enumerate(selector.seen):
        for image, own_scores in enumerate(scores):
            for tied, chosen in islice(_ties(own_scores, most, tolerance), MAX_SELECTIONS):
                selected = partial(_run_selecting, model, run, Selection(call, image, tied, chosen))
                yield image, _reason(own_scores, most, tied, chosen), selected


def _run_selecting(model: Any, run: Callable[[], Result], selection: Selection) -> Result:
    with _watched(model, selection):
        return run()


def _ties(scores: Tensor, most: int, tolerance: float) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Scores [S] -> (places tied around the K-th, those of them that another selection has)."""
    order = scores.argsort(descending=True, stable=True).tolist()
    last, following = float(scores[order[most - 1]]), float(scores[order[most]])
    reach = tolerance * float(scores.max() - scores.min())
    inside = [place for place in order[:most] if float(scores[place]) <= following + reach]
    outside = [place for place in order[most:] if float(scores[place]) >= last - reach]
    tied = (*inside, *outside)
    for chosen in islice(combinations(tied, len(inside)), 1, None):  # the first is PyTorch's own
        yield tied, chosen


def _reason(scores: Tensor, most: int, tied: Sequence[int], chosen: Sequence[int]) -> str:
    inside = tied[: len(chosen)]
    gone, come = (
        ", ".join(f"{float(scores[place]):.6f}" for place in places if place not in others)
        for places, others in ((inside, chosen), (chosen, inside))
    )
    return (
        f"PyTorch gives the same if it selects the query with encoder score {come} instead of {gone}; the two tie "
        f"within rounding (K = {most})"
    )


class _Selector(TorchFunctionMode):
    """Notes each selection, (scores [N, S], K); makes one of them otherwise."""

    def __init__(self, selection: Selection | None) -> None:
        super().__init__()
        self.selection = selection
        self.seen: list[tuple[Tensor, int]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in TOPK and len(args) > 1 and args[0].dim() == 2 and args[1] < args[0].shape[1]:  # noqa: PLR2004
            scores, most, *rest = args
            self.seen.append((scores.detach().clone(), int(most)))
            if self.selection is not None and self.selection.call == len(self.seen) - 1:
                args = (_reordered(scores, self.selection), most, *rest)
        return func(*args, **kwargs)


def _reordered(scores: Tensor, selection: Selection) -> Tensor:
    """The chosen ones of the tied places have the best of their scores, the others less than all of them."""
    scores = scores.clone()
    tied, chosen = list(selection.tied), list(selection.chosen)
    own = scores[selection.image]
    best, least = own[tied].max(), own[tied].min()
    own[tied] = least - (best - least) - torch.finfo(own.dtype).eps * own.abs().max()
    own[chosen] = best
    return scores


@contextmanager
def _watched(model: Any, selection: Selection | None = None) -> Iterator[_Selector]:
    """While the context lasts, what the model's forward selects is noted."""
    selector, forward = _Selector(selection), model.forward

    def watched(*arguments: Any, **named: Any) -> Any:
        with selector:
            return forward(*arguments, **named)

    model.forward = watched
    try:
        yield selector
    finally:
        del model.forward
