"""How large the values are that would be fp16, measured: the fp32 graph runs on calibration images."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from rewriters.onnx_graph.graph_outputs import run_all
from rewriters.precision.caster import BEYOND, SMALLEST

MARGIN = 4.0
"""How many times larger a value may be on other images than on all that were measured; so may sums be on the way to
a result, whose terms cancel. Two bits of the thirty that fp16 has between its smallest and its largest number."""
PREFIX = "zooport_precision"


def unfit(model: onnx.ModelProto, values: Iterable[str], feeds: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, str]:
    """Those of the values that fp16 cannot hold, or nearly not -> why, in words, from the largest numbers measured."""
    reasons = {}
    for name, largest in magnitudes(model, values, feeds).items():
        if not largest < BEYOND / MARGIN:
            reasons[name] = f"reaches {largest:.3g} on the calibration inputs, fp16 ends at 65504"
        elif 0 < largest < SMALLEST:
            reasons[name] = f"is {largest:.1e} at most on the calibration inputs, which fp16 would round away"
    return reasons


def magnitudes(
    model: onnx.ModelProto, values: Iterable[str], feeds: Sequence[Mapping[str, NDArray[Any]]]
) -> dict[str, float]:
    """The largest absolute number of each value (float32, of the main graph) over all feeds; 0 for one without numbers.

    The graph itself reduces each value to its smallest and largest number, so that no value outlives its use and
    nothing but these leaves ONNX Runtime: the memory is that of a plain run.
    """
    names = list(dict.fromkeys(values))
    if not names or not feeds:
        return {}
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    del watched.graph.output[:]
    ends = []
    for place, name in enumerate(names):
        for op in ("ReduceMin", "ReduceMax"):
            end = f"{PREFIX}_{op}_{place}"
            watched.graph.node.append(onnx.helper.make_node(op, [name], [end], end, keepdims=0))
            watched.graph.output.append(onnx.helper.make_tensor_value_info(end, TensorProto.FLOAT, []))
            ends.append(end)
    largest = np.zeros(len(names))
    for outputs in run_all(watched.SerializeToString(), feeds, ends):
        lowest, highest = np.array(outputs, dtype=np.float64).reshape(-1, 2).T
        empty = lowest > highest  # the smallest of no numbers is infinite
        largest = np.maximum(largest, np.where(empty, 0.0, np.maximum(np.abs(lowest), np.abs(highest))))
    return dict(zip(names, largest.tolist(), strict=True))
