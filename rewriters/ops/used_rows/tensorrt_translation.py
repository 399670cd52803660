"""The pair with standard ONNX operators only: every slot runs, as in PyTorch.

used_rows(slots, used) = slots
to_slots(rows, used)   = Where(used[R, 1, ...], rows, 0)
"""

import numpy as np
import onnx

from rewriters.ops.graph_builder import GraphBuilder


def used_rows(b: GraphBuilder, slots: str, used: str) -> str:
    """-> all rows."""
    rows: str = b.Identity(slots)
    return rows


def to_slots(b: GraphBuilder, rows: str, used: str) -> str:
    """-> [R, ...]."""
    one = onnx.numpy_helper.from_array(np.ones(1, dtype=np.int64))
    ones = b.ConstantOfShape(b.Shape(b.Shape(rows, start=1)), value=one)
    mask = b.Reshape(used, b.Concat(b.constant([-1]), ones, axis=0))
    zero = b.constant(0.0, np.float32)
    slots: str = b.CastLike(b.Where(mask, b.CastLike(rows, zero), zero), rows)  # Where takes no bool in ONNX Runtime
    return slots
