"""fp16 and int8: an exported file is brought to the target's precision, and checked as a fresh one is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray
from torch import Tensor

from rewriters import ExportRecord
from rewriters.checks import check_graph
from rewriters.export_onnx import tensor_spec
from rewriters.precision import to_precision
from zoo.target import Target
from zoo.tensor_spec import TensorSpec

Feeds = Sequence[Mapping[str, NDArray[Any]]]
"""The graph's inputs by name, of one calibration picture after the other."""


def at_precision(
    record: ExportRecord,
    path: Path,
    target: Target,
    example: Mapping[str, Tensor],
    output_specs: Sequence[TensorSpec],
    calibration: Callable[[], Feeds],
) -> ExportRecord:
    """The record of the ONNX file at `path`, which is then in the target's precision; nothing is done for fp32.

    `example`: inputs to run it once; `calibration` makes those of the calibration pictures. Raises ExportError where
    the graph cannot be brought there, or the result does not hold, InputError for options that do not fit it.
    """
    if target.precision == "fp32":
        return record
    feeds = calibration()
    model, report = to_precision(onnx.load(path), target.precision, target.precision_options, feeds)
    inputs, outputs = (tuple(tensor_spec(value) for value in side) for side in (model.graph.input, model.graph.output))
    dtypes = {spec.name: spec.dtype for spec in (*inputs, *outputs)}
    arrays = {name: tensor.numpy().astype(dtypes[name]) for name, tensor in example.items()}
    specs = [spec._replace(dtype=dtypes[spec.name]) for spec in output_specs]
    check_graph(model, target, arrays, specs)
    path.write_bytes(model.SerializeToString(deterministic=True))
    return replace(record, precision=report, nodes=len(model.graph.node), inputs=inputs, outputs=outputs)
