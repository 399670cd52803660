"""Graph rewriters after an export: the file is changed, and checked as a fresh one is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
from torch import Tensor

from rewriters import ExportRecord
from rewriters.checks import check_graph
from rewriters.export_onnx import tensor_spec
from rewriters.export_record import Fired
from rewriters.graph_rewriters import GRAPH_REWRITERS, rewrite_graph
from rewriters.graph_rewriters.graph_rewriter import Rewritten
from zoo.target import Target
from zoo.tensor_spec import TensorSpec

Steps = Sequence[str | Mapping[str, Any]]


def rewritten(
    record: ExportRecord,
    path: Path,
    steps: Steps,
    target: Target,
    example: Mapping[str, Tensor],
    output_specs: Sequence[TensorSpec],
) -> ExportRecord:
    """The record of the ONNX file at `path` after graph rewriters changed it, in order.

    `example`: inputs to run it once; `output_specs`: of the result. Raises InputError for unknown rewriters or options,
    ExportError where one refuses the graph, or the result does not hold.
    """
    if not steps:
        return record
    model, done = rewrite_graph(onnx.load(path), steps)
    arrays = {name: tensor.numpy() for name, tensor in example.items()}
    path.write_bytes(check_graph(model, target, arrays, output_specs))
    inputs, outputs = (tuple(tensor_spec(value) for value in side) for side in (model.graph.input, model.graph.output))
    return replace(
        record,
        rewriters=(*record.rewriters, *fired(done)),
        nodes=len(model.graph.node),
        inputs=inputs,
        outputs=outputs,
    )


def fired(done: Sequence[Rewritten]) -> list[Fired]:
    """Graph rewriters that changed something, as the record of an export tells them."""
    return [
        Fired(f"graph.{one.name}", GRAPH_REWRITERS[one.name].summary, len(one.changes)) for one in done if one.changes
    ]
