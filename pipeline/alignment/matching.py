"""The tensors of one group, PyTorch's and the graph's, one beside the other."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.alignment.figures import figures
from pipeline.alignment.layouts import Layout, layout
from pipeline.alignment.row_sets import row_set

Array = NDArray[Any]
ROWS_LAST, GUESSES_LAST = 1e30, 1e40
OTHER_TENSOR = 0.5  # relative error above which another order of axes is a guess, and no finding


class Match(NamedTuple):
    """A tensor of the graph by its place in the group, PyTorch's tensor for it, and its own in that layout.

    `layout` None: nothing of PyTorch's fits it. `number`: the place of PyTorch's tensor, None where it is several.
    """

    place: int
    number: int | None
    expected: Array | None
    layout: Layout | None


def matches(expected: Sequence[Array], actual: Sequence[Array], threshold: float) -> list[Match]:
    """Each of the graph's tensors once, in their order, unless it fits nothing and PyTorch's all have one.

    In order where both sides fit so. Calls that the graph runs as one batch are joined. Else each of PyTorch's tensors
    gets the one that fits its shape and is nearest.
    """
    if len(expected) == len(actual):
        fits = [layout(one, two) for one, two in zip(expected, actual, strict=True)]
        if len(fits) == 1 or all(fit is not None for fit in fits):
            ordered = [
                Match(place, place, one, fit) for place, (one, fit) in enumerate(zip(expected, fits, strict=True))
            ]
            if len(fits) == 1 or all(_near(match, threshold) for match in ordered):
                return ordered
            nearest = list(_nearest(expected, actual, threshold))
            return nearest if len(nearest) == len(ordered) else ordered
    return _joined(expected, actual) or list(_nearest(expected, actual, threshold))


def near(expected: Array, actual: Array, threshold: float) -> bool:
    """Whether one tensor of the graph is that of PyTorch."""
    fit = layout(expected, actual)
    return fit is not None and _near(Match(0, 0, expected, fit), threshold)


def _joined(expected: Sequence[Array], actual: Sequence[Array]) -> list[Match]:
    """All calls of one shape but for the batch axis, if the graph has as many rows of that shape in all.

    The module may be called at several places: PyTorch calls it at all of them for one window after the other, the
    graph for several windows at one place after the other. The number of places is the one that fits best.
    """
    arrays = (*expected, *actual)
    if len(expected) == len(actual) or not all(array.ndim for array in arrays):
        return []
    if len({array.shape[1:] for array in arrays}) != 1 or sum(map(len, expected)) != sum(map(len, actual)):
        return []
    ways = (_at_places(expected, actual, places) for places in range(1, len(actual) + 1))
    return min(filter(None, ways), key=_mean_error, default=[])


def _at_places(expected: Sequence[Array], actual: Sequence[Array], places: int) -> list[Match]:
    """The matches if the module is called at so many places; none where that cannot be."""
    if len(expected) % places or len(actual) % places:
        return []
    chosen = {}
    for place in range(places):
        rows, first = np.concatenate(list(expected[place::places])), 0
        indices = range(place, len(actual), places)
        if sum(len(actual[index]) for index in indices) != len(rows):
            return []
        for index in indices:
            part = rows[first : first + len(actual[index])]
            chosen[index] = Match(index, None, part, Layout(actual[index], "calls that the graph runs as a batch"))
            first += len(part)
    return [chosen[index] for index in sorted(chosen)]


def _mean_error(joined: Sequence[Match]) -> float:
    pairs = ((match.expected, match.layout) for match in joined)
    return sum(figures(one, fit.array).mean_error for one, fit in pairs if one is not None and fit is not None)


def _nearest(expected: Sequence[Array], actual: Sequence[Array], threshold: float) -> Iterator[Match]:
    """The surest pairs first; the tensors that are left fit nothing."""
    fits = {
        (number, place): fit
        for number, one in enumerate(expected)
        for place, two in enumerate(actual)
        if (fit := layout(one, two)) is not None
    }
    cost = {pair: _distance(expected[pair[0]], fit, threshold) for pair, fit in fits.items()}
    chosen: dict[int, Match] = {}
    numbers: set[int] = set()
    for number, place in sorted(cost, key=lambda pair: (cost[pair], pair)):
        if number not in numbers and place not in chosen:
            numbers.add(number)
            chosen[place] = Match(place, number, expected[number], fits[number, place])
    yield from (chosen[place] for place in sorted(chosen))
    if len(numbers) < len(expected):
        yield from (Match(place, None, None, None) for place in range(len(actual)) if place not in chosen)


def _near(match: Match, threshold: float) -> bool:
    fit = match.layout
    assert match.expected is not None and fit is not None  # noqa: PT018 - both or neither
    return fit.rows or figures(match.expected, fit.array).relative <= threshold


def _distance(expected: Array, fit: Layout, threshold: float) -> float:
    """The mean error; of rows of other numbers, after all that fits: how many have no equal. Wrong guesses are last."""
    if fit.guess and figures(expected, fit.array).relative > OTHER_TENSOR:
        return GUESSES_LAST
    if fit.rows:
        return ROWS_LAST * (1 + row_set(expected, fit.array, threshold).different)
    return figures(expected, fit.array).mean_error
