"""Graph rewriters after an export: the file is changed, and checked as a fresh one is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray

from rewriters.checks import check_graph
from rewriters.export_record import Fired
from rewriters.graph_rewriters import GRAPH_REWRITERS, rewrite_graph
from zoo.target import Target
from zoo.tensor_spec import TensorSpec

Steps = Sequence[str | Mapping[str, Any]]


def graph_step(
    path: Path,
    steps: Steps,
    target: Target,
    example: Mapping[str, NDArray[Any]],
    output_specs: Sequence[TensorSpec],
) -> tuple[Fired, ...]:
    """Apply graph rewriters to the ONNX file at `path`, in order; a record of each that changed something.

    `output_specs`: of the result. Raises InputError for unknown rewriters or options, ExportError where one refuses the
    graph, or the result does not hold.
    """
    model, done = rewrite_graph(onnx.load(path), steps)
    check_graph(model, target, example, output_specs)
    path.write_bytes(model.SerializeToString(deterministic=True))
    return tuple(
        Fired(f"graph.{record.name}", GRAPH_REWRITERS[record.name].summary, len(record.changes))
        for record in done
        if record.changes
    )
