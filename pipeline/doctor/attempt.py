"""One export, with or without our rewriters, whose file is run in ONNX Runtime and compared with eager PyTorch."""

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import onnx
import torch
from torch.jit._trace import TracerWarning

from pipeline.doctor.difference import NO_DIFFERENCE, Difference, difference, eager_outputs
from pipeline.doctor.examined_model import ExaminedModel
from pipeline.doctor.export_variant import ExportVariant, export
from pipeline.doctor.first_difference import first_difference
from pipeline.doctor.run_graph import run_graph
from pipeline.doctor.source_location import SourceLocation, is_model_source, location_of_error
from pipeline.doctor.tracer_warnings import watch
from rewriters.checks.local_paths import check_local_paths
from rewriters.checks.reachability import check_reachability
from rewriters.onnx_graph.custom_nodes import custom_nodes
from rewriters.onnx_graph.opset import opset_of
from rewriters.onnx_graph.scopes import every_graph
from rewriters.patching.twin import twin
from zoo.errors import ExportError

Stage = Literal["", "exporter", "graph", "onnxruntime", "reference"]
"""Where an attempt ended, "" where its file was tried."""


@dataclass(frozen=True)
class Ran:
    """A trial of the file: how far it is from eager, see `difference`, or why it did not run."""

    label: str
    by: str
    difference: Difference = NO_DIFFERENCE
    refused: str = ""

    @property
    def good(self) -> bool:
        """Whether it ran and gave the same numbers."""
        return not self.refused and self.difference.good


@dataclass(frozen=True)
class Attempt:
    """`error`: why no file runs on the example; `stage`: where that came from.

    `warned`: the exporter's warnings about lines of the model; `runs`: the trials that the model takes, the example
    first; `module`: the first whose result differs; `fired`: the rewriters that acted; `nodes`: how many of each type;
    `leak`: what of this machine is in the file.
    """

    way: ExportVariant
    stage: Stage = ""
    error: str = ""
    place: SourceLocation | None = None
    warned: tuple[tuple[SourceLocation, str], ...] = ()
    runs: tuple[Ran, ...] = ()
    module: str = ""
    fired: tuple[str, ...] = ()
    nodes: dict[str, int] = field(default_factory=dict)
    leak: str = ""

    @property
    def good(self) -> bool:
        """Whether the file runs and gives the model's numbers in every trial."""
        return not self.error and bool(self.runs) and all(run.good for run in self.runs)


def attempt(subject: ExaminedModel, way: ExportVariant) -> Attempt:
    """Export a copy and try it. What the exporter, ONNX Runtime or a rewriter raises is in the result."""
    with warnings.catch_warnings(record=True) as caught, torch.no_grad():
        warnings.simplefilter("always")
        try:
            subject = replace(subject, module=twin(subject.module, own_tensors=True))
            model, fired = export(twin(subject.module, own_tensors=True), subject, way)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what the user wants to know
            return Attempt(way, "exporter", _format_error(error), location_of_error(error), _warned(caught))
    content = model.SerializeToString()
    nodes = Counter(node.op_type for graph in every_graph(model.graph) for node in graph.node)
    result = Attempt(way, warned=_warned(caught), fired=tuple(fired), nodes=dict(nodes), leak=_leak(content))
    try:
        _check(model, subject, way)
    except ExportError as error:
        return replace(result, stage="graph", error=str(error))
    try:
        run_graph(model, _feed(model, subject.trials[0].feed))
    except ExportError as error:
        stage: Stage = "reference" if custom_nodes(model) else "onnxruntime"
        return replace(result, stage=stage, error=_first_line(error))
    try:
        runs = [_run(model, subject, number) for number in range(len(subject.trials))]
    except Exception as error:  # noqa: BLE001  # of the model on its example, as above
        return replace(result, stage="reference", error=_format_error(error))
    result = replace(result, runs=tuple(run for run in runs if run is not None))
    wrong = next((trial for trial, run in zip(subject.trials, runs, strict=True) if run and not run.good), None)
    if wrong is not None:
        result = replace(result, module=first_difference(model, subject.module, wrong.feed))
    return result


def _check(model: onnx.ModelProto, subject: ExaminedModel, way: ExportVariant) -> None:
    """Raises ExportError for another opset, an axis that was to vary, an unread input, or a constant output."""
    opset = opset_of(model)
    if opset != way.opset:
        raise ExportError(f"asked for opset {way.opset}, the exporter wrote {opset}")
    check_reachability(model, list(subject.trials[0].feed))
    for value in model.graph.input:
        for place, name in subject.axes.get(value.name, {}).items():
            size = value.type.tensor_type.shape.dim[place]
            if size.HasField("dim_value"):
                raise ExportError(
                    f"input {value.name}: axis {place} ({name}) was to vary, the file fixes it at {size.dim_value}"
                )


def _run(model: onnx.ModelProto, subject: ExaminedModel, number: int) -> Ran | None:
    """None where the trial says nothing of the export: the model does not take it, or it has equal scores."""
    trial = subject.trials[number]
    try:
        expected = eager_outputs(subject.module, trial.feed)
    except Exception:
        if not number:  # the example itself, which the model has taken before
            raise
        return None  # a size that the model refuses says nothing of the export
    try:
        outputs = run_graph(model, _feed(model, trial.feed))
    except ExportError as error:
        return Ran(trial.label, trial.by, refused=_first_line(error))
    ran = Ran(trial.label, trial.by, difference(expected, outputs))
    if trial.by == "numbers" and not ran.good and watch(subject.module, trial.feed).ties:
        return None  # saturated or all the same, whose order torch does not promise
    return ran


def _feed(model: onnx.ModelProto, feed: dict[str, torch.Tensor]) -> dict[str, Any]:
    present = {value.name for value in model.graph.input}
    return {name: tensor.numpy() for name, tensor in feed.items() if name in present}


def _leak(content: bytes) -> str:
    try:
        check_local_paths(content)
    except ExportError as error:
        return str(error).partition(";")[0]
    return ""


def _warned(caught: Sequence[warnings.WarningMessage]) -> tuple[tuple[SourceLocation, str], ...]:
    """Of the tracer, about lines of the model."""
    messages = [
        (SourceLocation(one.filename, one.lineno), re.split(r"\.\s", str(one.message))[0])
        for one in caught
        if issubclass(one.category, TracerWarning) and is_model_source(one.filename)
    ]
    return tuple(dict.fromkeys(messages))


def _format_error(error: BaseException) -> str:
    """The innermost error, and what wraps it, without colours: the operator's name may be in either."""
    words: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        words.append(f"{type(cause).__name__}: {_first_line(cause)}")
        cause = cause.__cause__ or cause.__context__
    return re.sub(r"\x1b\[\d+m", "", "; from ".join(reversed(dict.fromkeys(words))))


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")
