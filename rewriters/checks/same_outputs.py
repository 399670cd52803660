"""Whether two runs of one model gave the same tensors, whatever the model is.

Rows that were chosen and belong together ([N, K, ...] of several outputs, such as boxes, scores and labels) are
compared as sets where their order differs: near-equal scores swap places between torch and ONNX Runtime. Chosen are
those with a label, or with scores that come best first: maps, and boxes before a choice, have places of their own.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

GATE = 1e-4  # of an output's range, zero included: the gate of logits in every deployment
ROW_GATE = 1e-3  # of a row's values, which a score or a pixel's place moves with
UNMATCHED = 0.02  # of an image's filled rows: those near a threshold may be there or not
WHOLE_NUMBERS = 0.01  # of the whole numbers of an output, such as labels of pixels, may lie on the other side of a tie
NOT_A_NUMBER = 1e30  # in the place of NaN, which is near to nothing but itself

Array = NDArray[Any]


def disagreement(names: Sequence[str], expected: Sequence[Array], outputs: Sequence[Array]) -> str | None:
    """Which output of a graph differs from the model's, and by how much; None where they are the same."""
    if len(expected) != len(outputs):
        return f"the model gives {len(expected)} tensors, the graph {len(outputs)}"
    for name, want, got in zip(names, expected, outputs, strict=True):
        if want.shape != got.shape or want.dtype != got.dtype:
            return f"output {name} is {got.dtype} {list(got.shape)}, PyTorch gives {want.dtype} {list(want.shape)}"
    texts = [
        f"output {name} {text}"
        for name, *pair in zip(names, expected, outputs, strict=True)
        if (text := _differs(*pair))
    ]
    if not texts or _same_rows(expected, outputs):
        return None
    return texts[0]


def _differs(want: Array, got: Array) -> str:
    if want.dtype.kind != "f":
        share = float(np.mean(want != got)) if want.size else 0.0
        return f"differs in {share:.2%} of its integers" if share > WHOLE_NUMBERS else ""
    finite = np.isfinite(want)
    if not np.isfinite(got[finite]).all() or not np.array_equal(want[~finite], got[~finite], equal_nan=True):
        return "has NaN or infinity in other places than PyTorch's"
    error = _error(want, got)
    return f"differs by {error:.1e} of its range (gate {GATE:.0e})" if error > GATE else ""


def _error(want: Array, got: Array) -> float:
    finite = np.isfinite(want)
    one, two = want[finite].astype(np.float64), got[finite].astype(np.float64)
    if not one.size:
        return 0.0
    return float(np.abs(one - two).max()) / _scale(one)


def _scale(values: NDArray[np.float64]) -> float:
    """The range, zero included: one number for each image has none of its own at batch 1."""
    return float(np.ptp(np.append(values, 0.0))) or 1.0


def _same_rows(expected: Sequence[Array], outputs: Sequence[Array]) -> bool:
    """Whether all that is beyond the gates is chosen rows [N, K, ...] in another order, or a few near a threshold."""
    tables = [index for index, want in enumerate(expected) if want.ndim > 1 and want.dtype.kind in "fi"]
    places = {expected[index].shape[:2] for index in tables}
    if len(tables) < 2 or len(places) != 1:  # noqa: PLR2004  # one table has no rows that belong together
        return False
    if not any(_are_of_a_choice(expected[index]) for index in tables):
        return False
    want, got = (_rows([side[index] for index in tables], expected, tables) for side in (expected, outputs))
    filled = (want != want[:, -1:]).any(axis=2).sum(axis=1)  # slots without an object are all the same, and last
    least = any(expected[index].ndim > 2 for index in tables)  # noqa: PLR2004 - of boxes one, of the five best classes none
    allowed = np.minimum(np.maximum(least, np.rint(UNMATCHED * filled)), np.maximum(filled - 1, 0) // 2).astype(int)
    rest = [pair for index, pair in enumerate(zip(expected, outputs, strict=True)) if index not in tables]
    if any(_differs(*pair) and not _near_counts(*pair, allowed) for pair in rest):
        return False
    both = [*zip(want, got, allowed, strict=True), *zip(got, want, allowed, strict=True)]
    return all(_unmatched(rows, others, few) <= few for rows, others, few in both)


def _are_of_a_choice(table: Array) -> bool:
    """Whether it has labels [N, K], or scores [N, K] or [N, K, 1], the best first."""
    if table.dtype.kind == "f" and table.shape[2:] == (1,):
        table = table[..., 0]
    if table.ndim != 2:  # noqa: PLR2004 - one number for each row
        return False
    if table.dtype.kind == "i":
        return True
    before, behind = table[:, :-1], table[:, 1:]  # infinities have no difference
    return bool((before >= behind).all() and (before > behind).any())


def _near_counts(want: Array, got: Array, allowed: NDArray[np.int64]) -> bool:
    """Whether these are whole numbers [N], such as how many rows there are, that those rows can explain."""
    return (
        want.shape == allowed.shape
        and want.dtype.kind in "iu"
        and bool((np.abs(want.astype(np.int64) - got.astype(np.int64)) <= allowed).all())
    )


def _rows(side: Sequence[Array], expected: Sequence[Array], tables: Sequence[int]) -> NDArray[np.float64]:
    """Tables [N, K, ...] -> [N, K, D], each float as a part of its table's range; whole numbers as they are."""
    columns = []
    for values, index in zip(side, tables, strict=True):
        finite = expected[index][np.isfinite(expected[index])]
        scaled = values.astype(np.float64) / (_scale(finite.astype(np.float64)) if values.dtype.kind == "f" else 1.0)
        columns.append(np.nan_to_num(scaled, nan=NOT_A_NUMBER).reshape(*values.shape[:2], -1))
    return np.concatenate(columns, axis=2)


def _unmatched(rows: NDArray[np.float64], others: NDArray[np.float64], allowed: int) -> int:
    """Rows [K, D] without a near one among the others; one more than allowed are not counted further."""
    far = (row for row in rows if np.abs(others - row).max(axis=1).min() > ROW_GATE)
    return sum(1 for _ in islice(far, allowed + 1))
