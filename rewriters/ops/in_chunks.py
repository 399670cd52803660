"""Running a computation over its rows in chunks, so that what lies in memory at once is bounded."""

from collections.abc import Callable, Sequence

from rewriters.ops.graph_builder import GraphBuilder

ELEMENTS = 2**24  # of the largest array of a chunk: 64 MiB of float32


def in_chunks(b: GraphBuilder, rows: Sequence[str], per_row: str, kind: int, body: Callable[..., str]) -> str:
    """`body(inner, *chunks)` for chunks of `rows`, each [R, ...] -> what they gave, joined: [R, ...], dtype `kind`.

    `per_row`: elements of the largest array that `body` makes of one row, int64 []. A chunk has as many rows as
    ELEMENTS allow, at least one; all chunks have the same number, the last one is filled up with copies of the last
    row.
    """
    one = b.constant(1)
    count = b.size(rows[0], 0)
    most = b.Max(b.Div(b.constant(ELEMENTS), per_row), one)
    turns = b.Max(_ceil_div(b, count, most), one)
    length = _ceil_div(b, count, turns)
    numbers = b.Range(b.constant(0), length, one)
    last = b.Sub(count, one)

    def of_chunk(inner: GraphBuilder, turn: str) -> tuple[list[str], str]:
        index = inner.Min(inner.Add(inner.Mul(turn, length), numbers), last)
        return [body(inner, *(inner.Gather(value, index, axis=0) for value in rows))], ""

    (stacked,) = b.loop(turns, [], [kind], of_chunk)
    flat = b.Reshape(stacked, b.Concat(b.constant([-1]), b.Shape(stacked, start=2), axis=0))
    end = b.Unsqueeze(count, b.constant([0]))
    joined: str = b.Slice(flat, b.constant([0]), end, b.constant([0]))
    return joined


def _ceil_div(b: GraphBuilder, value: str, by: str) -> str:
    quotient: str = b.Div(b.Sub(b.Add(value, by), b.constant(1)), by)
    return quotient
