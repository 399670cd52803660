"""fp16 and int8: an exported file is brought to the target's precision, and checked as a fresh one is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import onnx
from torch import Tensor

from pipeline.precision.calibration import Calibration
from rewriters import ExportRecord
from rewriters.checks import check_graph
from rewriters.export_onnx import tensor_spec
from rewriters.precision import converter
from zoo.target import Target
from zoo.tensor_spec import TensorSpec


def at_precision(
    record: ExportRecord,
    path: Path,
    target: Target,
    example: Mapping[str, Tensor],
    output_specs: Sequence[TensorSpec],
    calibration: Callable[[], Calibration],
) -> ExportRecord:
    """The record of the ONNX file at `path`, which is then in the target's precision; nothing is done for fp32.

    `example`: inputs to run it once; `calibration` makes those of the calibration images; a note
    says where they are fewer than asked for. Raises ExportError where
    the graph cannot be brought there, or the result does not hold, InputError for options that do not fit it.
    """
    if target.precision == "fp32":
        return record
    calibrated, requested = calibration(), target.precision_options.calibration_images
    convert = converter(target.precision, target.backend)
    model, report = convert(onnx.load(path), target.precision_options, calibrated.feeds)
    if calibrated.images < requested:
        fewer = f"calibrated on {calibrated.images} inputs: {requested} were asked for, and there are no more"
        report = replace(report, notes=(*report.notes, fewer))
    inputs, outputs = (tuple(tensor_spec(value) for value in side) for side in (model.graph.input, model.graph.output))
    dtypes = {spec.name: spec.dtype for spec in (*inputs, *outputs)}
    arrays = {name: tensor.numpy().astype(dtypes[name]) for name, tensor in example.items()}
    specs = [spec._replace(dtype=dtypes[spec.name]) for spec in output_specs]
    path.write_bytes(check_graph(model, target, arrays, specs))
    return replace(
        record,
        precision=report,
        calibrated=calibrated.images,
        nodes=len(model.graph.node),
        inputs=inputs,
        outputs=outputs,
    )
