"""Whether two graphs compute the same: both run in ONNX Runtime on the same random inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from rewriters.checks.random_inputs import random_inputs
from rewriters.onnx_graph.custom_nodes import custom_nodes, format_custom_nodes
from rewriters.onnx_graph.graph_outputs import run_once
from zoo.errors import ExportError

ROUNDS = 2  # of different sizes
TOLERANCE = 1e-4  # of an output's largest number: what another order of float32 arithmetic may change


@dataclass(frozen=True)
class Comparison:
    """What came out. `sizes`: those that ran; `difference`: the largest, as a part of its output's largest number;
    `unequal`: the first output beyond the tolerance, in words; `alike`: outputs whose numbers were all equal, as those
    of a detector that finds nothing in noise: they prove little; `not_run`: why nothing ran.
    """

    sizes: tuple[str, ...] = ()
    difference: float = 0.0
    unequal: str = ""
    alike: tuple[str, ...] = ()
    not_run: str = ""

    @property
    def same(self) -> bool:
        """Whether it ran, and all numbers are the same within the tolerance."""
        return not self.unequal and not self.not_run


def compare_graphs(before: onnx.ModelProto, after: onnx.ModelProto) -> Comparison:
    """Run both for up to two sizes of the dynamic axes. Sizes that the first refuses to run at are not compared.

    Raises ExportError where only the second does not run.
    """
    if _interface(before) != _interface(after):
        return Comparison(not_run="its inputs or outputs changed")
    if custom := format_custom_nodes(custom_nodes(before) or custom_nodes(after)):
        return Comparison(not_run=custom)
    try:
        runs = _runs(before)
    except ExportError as error:
        return Comparison(not_run=str(error).splitlines()[0])
    content = after.SerializeToString()
    difference, unequal = 0.0, ""
    for size, feed, expected in runs:
        outputs = run_once(content, feed)
        for output, one, two in zip(before.graph.output, expected, outputs, strict=True):
            part = _difference(one, two)
            difference = max(difference, part)
            if part > TOLERANCE and not unequal:
                much = f"by {part:.1e} of its largest number" if np.isfinite(part) else "in shape, dtype or integers"
                unequal = f"output {output.name} differs {much} at {size}"
    values = zip(*(expected for _, _, expected in runs), strict=True)
    alike = [output.name for output, ones in zip(before.graph.output, values, strict=False) if all(map(_alike, ones))]
    return Comparison(tuple(size for size, _, _ in runs), difference, unequal, tuple(alike))


def _alike(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size > 1 and bool((value == value.flat[0]).all())


def _interface(model: onnx.ModelProto) -> list[list[bytes]]:
    """Names, types and shapes of inputs and outputs."""
    values = (model.graph.input, model.graph.output)
    return [
        [value.name.encode() + value.type.SerializeToString(deterministic=True) for value in ends] for ends in values
    ]


def _runs(model: onnx.ModelProto) -> list[tuple[str, dict[str, NDArray[Any]], list[Any]]]:
    """(sizes, inputs, outputs) of up to ROUNDS sizes. Raises ExportError, the first, where it runs at none."""
    content = model.SerializeToString()
    runs = []
    refusal: ExportError | None = None
    for size, feed in random_inputs(model):
        try:
            runs.append((size, feed, run_once(content, feed)))
        except ExportError as error:
            refusal = refusal or error
        if len(runs) == ROUNDS:
            break
    if not runs and refusal is not None:
        raise refusal
    return runs


def _difference(one: Any, two: Any) -> float:
    """The largest, as a part of the largest number; infinite where that has no meaning."""
    if not isinstance(one, Sequence | np.ndarray):  # a map of onnxruntime's ML operators, or an absent value
        return 0.0 if one == two else np.inf
    if isinstance(one, Sequence):
        pairs = zip(one, two, strict=False)
        return max((_difference(*pair) for pair in pairs), default=0.0) if len(one) == len(two) else np.inf
    if one.shape != two.shape or one.dtype != two.dtype:
        return np.inf
    if one.dtype.kind != "f":
        return 0.0 if np.array_equal(one, two) else np.inf
    wide, other = one.astype(np.float64), two.astype(np.float64)
    finite = np.isfinite(wide)
    rest, other_rest = np.where(finite, 0.0, wide), np.where(np.isfinite(other), 0.0, other)
    if not np.array_equal(rest, other_rest, equal_nan=True):
        return np.inf
    largest = np.abs(wide[finite]).max(initial=0.0)
    gap = np.abs(wide[finite] - other[finite]).max(initial=0.0)
    return float(gap / largest) if largest else float(gap)
