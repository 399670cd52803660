"""The pair as ONNX: the used rows alone go in, and are scattered back into zeros.

used_rows(slots, used) = Compress(slots, used)
to_slots(rows, used)   = ScatterND(zeros[R, ...], NonZero(used), rows)
"""

import numpy as np

from rewriters.ops.graph_builder import GraphBuilder


def used_rows(b: GraphBuilder, slots: str, used: str) -> str:
    """-> the rows that are used."""
    rows: str = b.Compress(slots, used, axis=0)
    return rows


def to_slots(b: GraphBuilder, rows: str, used: str) -> str:
    """-> [R, ...]."""
    index = b.Transpose(b.NonZero(used), perm=[1, 0])
    shape = b.Concat(b.Shape(used), b.Shape(rows, start=1), axis=0)
    zeros = b.Expand(b.CastLike(b.constant(0.0, np.float32), rows), shape)
    slots: str = b.ScatterND(zeros, index, rows)
    return slots
