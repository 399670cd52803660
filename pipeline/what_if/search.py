"""Which modules must stay in fp32: greedy by harm, then by halves, then without those that are not needed."""

from collections.abc import Callable, Sequence

Kept = tuple[str, ...]


def search(ranked: Sequence[str], good: Callable[[Kept], bool]) -> Kept | None:
    """Few modules that are good enough in fp32, of `ranked`, the most harmful first, in that order.

    The beginning of `ranked` is doubled until it is good; None where even all of them are not. Then the shortest good
    beginning is found by halving, as if a longer one were never worse. At last each module of it, the least harmful
    first, is left out where the rest is good without it. There may be shorter lists of other modules.
    """
    if good(()):
        return ()
    bad, enough = 0, min(1, len(ranked))
    while not good(tuple(ranked[:enough])):
        if enough == len(ranked):
            return None
        bad, enough = enough, min(2 * enough, len(ranked))
    while enough - bad > 1:
        middle = (bad + enough) // 2
        if good(tuple(ranked[:middle])):
            enough = middle
        else:
            bad = middle
    kept = tuple(ranked[:enough])
    for name in reversed(kept[:-1]):  # without the last one it was not good
        rest = tuple(other for other in kept if other != name)
        if good(rest):
            kept = rest
    return kept
