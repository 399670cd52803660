"""Whether two runs of one model gave the same tensors, whatever the model is.

Rows that belong together ([N, K, ...] of several outputs, such as boxes, scores and labels) are compared as sets where
their order differs: near-equal scores swap places between torch and ONNX Runtime.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

GATE = 1e-4  # of an output's range: the gate of logits in every deployment
ROW_GATE = 1e-3  # of a row's values, which a score or a pixel's place moves with
UNMATCHED = 0.02  # of the rows: those near a threshold may be there or not
WHOLE_NUMBERS = 0.01  # of the whole numbers of an output, such as labels of pixels, may lie on the other side of a tie

Array = NDArray[Any]


@dataclass(frozen=True)
class Disagreement:
    """`text`: which output differs, and by how much; `of_values`: shapes and dtypes are the same."""

    text: str
    of_values: bool


def disagreement(names: Sequence[str], expected: Sequence[Array], outputs: Sequence[Array]) -> Disagreement | None:
    """How outputs of a graph differ from those of the model, the worst first; None where they are the same."""
    if len(expected) != len(outputs):
        return Disagreement(f"the model gives {len(expected)} tensors, the graph {len(outputs)}", of_values=False)
    for name, want, got in zip(names, expected, outputs, strict=True):
        if want.shape != got.shape or want.dtype != got.dtype:
            return Disagreement(
                f"output {name} is {got.dtype} {list(got.shape)}, PyTorch gives {want.dtype} {list(want.shape)}",
                of_values=False,
            )
    texts = [
        f"output {name} {text}"
        for name, *pair in zip(names, expected, outputs, strict=True)
        if (text := _differs(*pair))
    ]
    if not texts or _same_rows(expected, outputs):
        return None
    return Disagreement(texts[0], of_values=True)


def _differs(want: Array, got: Array) -> str:
    if want.dtype.kind != "f":
        share = float(np.mean(want != got)) if want.size else 0.0
        return f"differs in {share:.2%} of its whole numbers" if share > WHOLE_NUMBERS else ""
    if not np.array_equal(np.isfinite(want), np.isfinite(got)):
        return "has NaN or infinity elsewhere than PyTorch's"
    error = _error(want, got)
    return f"differs by {error:.1e} of its range (gate {GATE:.0e})" if error > GATE else ""


def _error(want: Array, got: Array) -> float:
    finite = np.isfinite(want)
    one, two = want[finite].astype(np.float64), got[finite].astype(np.float64)
    if not one.size:
        return 0.0
    return float(np.abs(one - two).max()) / (float(np.ptp(one)) or 1.0)


def _same_rows(expected: Sequence[Array], outputs: Sequence[Array]) -> bool:
    """Whether all that is beyond the gates is rows [N, K, ...] in another order, or a few near a threshold."""
    tables = [index for index, want in enumerate(expected) if want.ndim > 1 and want.dtype.kind in "fi"]
    places = {expected[index].shape[:2] for index in tables}
    if len(tables) < 2 or len(places) != 1:  # noqa: PLR2004  # one table has no rows that belong together
        return False
    rest = [index for index in range(len(expected)) if index not in tables]
    if any(_differs(expected[index], outputs[index]) for index in rest if expected[index].ndim > 1):
        return False
    want, got = (_rows([side[index] for index in tables], expected, tables) for side in (expected, outputs))
    allowed = int(np.ceil(UNMATCHED * want.shape[1]))
    return all(max(_unmatched(*pair), _unmatched(*reversed(pair))) <= allowed for pair in zip(want, got, strict=True))


def _rows(side: Sequence[Array], expected: Sequence[Array], tables: Sequence[int]) -> NDArray[np.float64]:
    """Tables [N, K, ...] -> [N, K, D], each float as a part of its table's range; whole numbers as they are."""
    columns = []
    for values, index in zip(side, tables, strict=True):
        finite = expected[index][np.isfinite(expected[index])]
        spread = (float(np.ptp(finite)) if finite.size else 0.0) or 1.0
        scaled = values.astype(np.float64) / (spread if values.dtype.kind == "f" else 1.0)
        columns.append(np.nan_to_num(scaled).reshape(*values.shape[:2], -1))
    return np.concatenate(columns, axis=2)


def _unmatched(rows: NDArray[np.float64], others: NDArray[np.float64]) -> int:
    """Rows [K, D] without a near one among the others."""
    return sum(float(np.abs(others - row).max(axis=1).min()) > ROW_GATE for row in rows)
