"""A cell of the table of other people's models: one model by one exporter, right and quick in which runtime."""

import os
import statistics
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import torch
from matrix import export_referenced
from measured import interleaved, ratio
from own_model_case import BATCHES, OwnModel
from sessions import open_session, session_run
from tensorrt_models import BACKEND as TENSORRT
from tensorrt_models import built_engine
from torch import Tensor

from backends.registry import get_backend
from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_parity import GraphReference, graph_parity, graph_references
from pipeline.preflight import preflight, steps
from rewriters.exporters import by_dynamo, by_torchscript
from rewriters.graph_rewriters import rewrite_graph
from zoo.comparison import Findings
from zoo.dialect import dialect_of
from zoo.errors import ZooportError
from zoo.families import contract_module, family_of
from zoo.target import DEFAULT_BACKEND, Target

ROUNDS = 15
CASES = ("batch 1", "batch 3", "second size")
OPENVINO = "openvino"
RIGHT = "right"
Cell = dict[str, Any]


class Plain(NamedTuple):
    """torch's own export: its file, None where it is refused, and what the cell says of it."""

    path: Path | None
    words: Cell


def measured_cell(own: OwnModel, exporter: str) -> Cell:
    """What the table says of the model by this exporter.

    The graph has a dynamic batch, and dynamic sizes where the model takes a second one; where these are refused, fixed
    sizes, and the refusal is the cell's second size. torch's own export has dynamic sizes all the same. Raises
    AssertionError where zooport writes a file whose numbers are wrong.
    """
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    target = Target(own.axes(second=True), exporter=exporter, level=own.level)
    references = graph_references(own.model, own.task, own.level, own.forward, own.inputs())
    second = "one size alone"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        plain = _plain(own, target, references, path.with_name("plain.onnx"))
        if own.second is not None:
            try:
                return _measured(own, target, references, path, plain) | {"second_size": RIGHT}
            except ZooportError as error:
                second = f"refused: {error}"
        target, references = target.with_(axes=own.axes(second=False)), references[: len(BATCHES)]
        try:
            return _measured(own, target, references, path, plain) | {"second_size": second}
        except ZooportError as error:
            return {"verdict": "refused", "reason": str(error), "second_size": second}


def _measured(own: OwnModel, target: Target, references: Sequence[GraphReference], path: Path, plain: Plain) -> Cell:
    """Raises ExportError where the export is refused, and AssertionError where its numbers are wrong."""
    export_referenced(own.model, own.task, target, own.forward, references, path)
    findings = _compared(own, path, target, references)
    for name, found in zip(CASES, findings, strict=False):
        if found.failures or found.blank:
            raise AssertionError(f"{name}: {'; '.join(found.failures) or 'PyTorch gives nothing to compare'}")
    total = sum(findings, Findings(blank=True))
    return {
        "verdict": "passed",
        "errors": [[each.name, each.max_error, each.unit] for each in total.figures],
        "borderline": len(total.borderline),
        "nodes": len(onnx.load(path).graph.node),
        "plain": plain.words,
        **_latency(own, path, plain.path, references[0]),
        "openvino": _in_openvino(own, path, target, references),
        "engine": _engine(own, target, references, path.with_name("engine.onnx")),
    }


def _compared(own: OwnModel, path: Path, target: Target, references: Sequence[GraphReference]) -> list[Findings]:
    """What a runtime gives for each reference, by the gates of every deployment."""
    gates = merged_gates(own=own.task.own_gates)["graph"]
    rule = family_of(own.model).decision_rule(own.model)
    with get_backend(target.backend).open_graph(path, target=target) as runner:
        return [case.findings for case in graph_parity(runner, references, own.task, own.level, gates, rule)]


def _words(findings: Sequence[Findings]) -> str:
    wrong = [name for name, found in zip(CASES, findings, strict=False) if found.failures]
    return f"wrong: {', '.join(wrong)}" if wrong else RIGHT


def _plain(own: OwnModel, target: Target, references: Sequence[GraphReference], path: Path) -> Plain:
    """torch's export of the unpatched model alone, with the same axes, and whether it is right."""
    try:
        model = _by_torch(own, target, torch.from_numpy(references[0].given.arrays["images"]).repeat(2, 1, 1, 1))
        path.write_bytes(model.SerializeToString())
        words = _words(_compared(own, path, target, references))
    except Exception as error:  # noqa: BLE001 - what torch and a runtime raise is what is measured
        return Plain(None, {"verdict": "refused", "reason": _line(error)})
    return Plain(path, {"verdict": words, "nodes": len(model.graph.node)})


def _by_torch(own: OwnModel, target: Target, images: Tensor) -> onnx.ModelProto:
    contract = contract_module(own.model, own.task, own.level, own.forward)
    axes = {number: axis for number, axis in ((0, "batch"), (2, "height"), (3, "width")) if axis in target.dynamic_axes}
    names = [spec.name for spec in contract.outputs(own.task, own.level)]
    options: dict[str, Any] = {"opset": target.opset, "operators": None, "output_names": names}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about what it freezes
        if target.exporter == "torchscript":
            return by_torchscript(contract, {"images": images}, axes={"images": axes}, **options)
        shapes = (dict.fromkeys(axes, torch.export.Dim.DYNAMIC),)
        return by_dynamo(contract, {"images": images}, shapes=shapes, **options)


def _latency(own: OwnModel, path: Path, plain: Path | None, reference: GraphReference) -> Cell:
    """Of a batch of 1 on all threads: ratios of interleaved rounds."""
    feed = dict(reference.given.arrays)
    contract = contract_module(own.model, own.task, own.level, own.forward)
    images = torch.from_numpy(feed["images"])

    def eager() -> object:
        with torch.inference_mode():
            return contract(images)

    runs = {"ours": session_run(open_session(path.read_bytes()), feed), "eager": eager}
    if plain is not None:
        runs["plain"] = session_run(open_session(plain.read_bytes()), feed)
    seconds = interleaved(runs, ROUNDS)
    return {
        "ms": 1e3 * statistics.median(seconds["ours"]),
        "of_eager": ratio(seconds, "ours", "eager"),
        "of_plain": None if plain is None else ratio(seconds, "ours", "plain"),
    }


def _in_openvino(own: OwnModel, path: Path, target: Target, references: Sequence[GraphReference]) -> str:
    """Right, or what is wrong, or why it is refused. The same file where both runtimes take the same graphs."""
    try:
        if dialect_of(OPENVINO) != dialect_of(DEFAULT_BACKEND):
            path = path.with_name("openvino.onnx")
            export_referenced(own.model, own.task, target.with_(backend=OPENVINO), own.forward, references, path)
        return _words(_compared(own, path, target.with_(backend=OPENVINO), references))
    except ZooportError as error:
        return f"refused: {error}"


def _engine(own: OwnModel, target: Target, references: Sequence[GraphReference], path: Path) -> Cell:
    """Whether tensorrt_rtx builds an engine on the CPU. That says nothing of its numbers."""
    target = target.with_(backend=TENSORRT)
    try:
        export_referenced(own.model, own.task, target, own.forward, references, path)
        graph = onnx.load(path)
        graph, _ = rewrite_graph(graph, steps(preflight(graph, target)))
        return {"verdict": "passed", **built_engine(graph, target)}
    except ZooportError as error:
        return {"verdict": "refused", "reason": str(error)}


def _line(error: BaseException) -> str:
    """One line of the innermost error."""
    while error.__cause__ is not None:
        error = error.__cause__
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {line}"
