"""A cell of the table of other people's models: one model by one exporter, right and quick in which runtime."""

import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import torch
from matrix import export_referenced
from measured import busy_elsewhere, interleaved, ratio
from own_model_case import BATCHES, OwnModel
from sessions import open_session, session_run
from tensorrt_models import BACKEND as TENSORRT
from tensorrt_models import built_engine
from torch import Tensor

from backends.registry import get_backend
from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_parity import GraphReference, graph_parity, graph_references
from pipeline.preflight import preflight, steps
from rewriters.export_onnx import tensor_spec
from rewriters.exporters import by_dynamo, by_torchscript
from rewriters.graph_rewriters import rewrite_graph
from zoo.comparison import Findings
from zoo.errors import ZooportError
from zoo.families import contract_module, family_of
from zoo.target import DEFAULT_BACKEND, Target

ROUNDS = (7, 61)  # at least and at most
ENOUGH = 1.0  # seconds of computing, in which as many are made as fit
THREADS = 1  # of both sides, so that neither has cores that the other one lacks
CASES = ("batch 1", "batch 3", "second size")
OPENVINO = "openvino"
RIGHT = "right"
Cell = dict[str, Any]


class Written(NamedTuple):
    """zooport's file, its target, and what PyTorch gives at every batch and size that the target has."""

    path: Path
    target: Target
    references: Sequence[GraphReference]


class Plain(NamedTuple):
    """torch's own export: its file, None where it is refused, and what the cell says of it."""

    path: Path | None
    words: Cell


def measured_cell(own: OwnModel, exporter: str, stage: str) -> Cell:
    """What the table says of the model by this exporter; `stage`: of STAGES.

    The graph has a dynamic batch, and dynamic sizes where the model takes a second one; where these are refused, fixed
    sizes, and the refusal is the cell's second size. Raises AssertionError where zooport writes a file whose numbers
    are wrong.
    """
    torch.set_num_threads(THREADS)
    references = graph_references(own.model, own.task, own.level, own.forward, own.inputs())
    second, reason = "one size alone", ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for sizes in (True, False) if own.second is not None else (False,):
            target = Target(own.axes(second=sizes), exporter=exporter, level=own.level)
            written = Written(path, target, references if sizes else references[: len(BATCHES)])
            try:
                export_referenced(own.model, own.task, target, own.forward, written.references, path)
            except ZooportError as error:
                reason = str(error)
                second = f"refused: {reason}" if sizes else second
                continue
            return STAGES[stage](own, written) | {"second_size": RIGHT if sizes else second}
    return {"verdict": "refused", "reason": reason, "second_size": second}


def _proved(own: OwnModel, written: Written) -> Cell:
    """Raises AssertionError where the numbers are wrong."""
    path, target, references = written
    findings = _compared(own, path, target, references)
    for name, found in zip(CASES, findings, strict=False):
        if found.failures:
            raise AssertionError(f"{name}: {'; '.join(found.failures)}")
    total = sum(findings, Findings(blank=True))
    if total.blank:
        raise AssertionError("PyTorch gives nothing to compare")
    return {
        "verdict": "passed",
        "errors": [[each.name, each.max_error, each.unit] for each in total.figures],
        "borderline": len(total.borderline),
        "nodes": len(onnx.load(path).graph.node),
        "plain": _plain(own, target.exporter, path.with_name("plain.onnx")).words | {"level": own.plain_level},
        "openvino": _in_openvino(own, path, target, references),
        "engine": _engine(own, references, path.with_name("engine.onnx"), target.exporter),
    }


def _compared(own: OwnModel, path: Path, target: Target, references: Sequence[GraphReference]) -> list[Findings]:
    """What a runtime gives for each reference, by the gates of every deployment."""
    gates = merged_gates(own=own.task.own_gates)["graph"]
    rule = family_of(own.model).decision_rule(own.model)
    graph = onnx.load(path, load_external_data=False).graph
    inputs, outputs = ([tensor_spec(value) for value in values] for values in (graph.input, graph.output))
    with get_backend(target.backend).open_graph(path, inputs, outputs, target=target) as runner:
        return [case.findings for case in graph_parity(runner, references, own.task, target.level, gates, rule)]


def _words(findings: Sequence[Findings]) -> str:
    wrong = [name for name, found in zip(CASES, findings, strict=False) if found.failures]
    return f"wrong: {', '.join(wrong)}" if wrong else RIGHT


def _plain(own: OwnModel, exporter: str, path: Path) -> Plain:
    """torch's export of the unpatched model alone, with dynamic sizes where it takes them, and whether right."""
    target = Target(own.axes(second=True), exporter=exporter, level=own.plain_level or own.level)
    references = graph_references(own.model, own.task, target.level, own.forward, own.inputs())
    try:
        model = _by_torch(own, target, torch.from_numpy(references[0].given.arrays["images"]).repeat(2, 1, 1, 1))
        path.write_bytes(model.SerializeToString())
        words = _words(_compared(own, path, target, references))
    except Exception as error:  # noqa: BLE001 - what torch and a runtime raise is what is measured
        return Plain(None, {"verdict": "refused", "reason": _line(error)})
    return Plain(path, {"verdict": words, "nodes": len(model.graph.node)})


def _by_torch(own: OwnModel, target: Target, images: Tensor) -> onnx.ModelProto:
    contract = contract_module(own.model, own.task, target.level, own.forward)
    axes = {number: axis for number, axis in ((0, "batch"), (2, "height"), (3, "width")) if axis in target.dynamic_axes}
    names = [spec.name for spec in contract.outputs(own.task, target.level)]
    options: dict[str, Any] = {"opset": target.opset, "operators": None, "output_names": names}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about what it freezes
        if target.exporter == "torchscript":
            return by_torchscript(contract, {"images": images}, axes={"images": axes}, **options)
        shapes = (dict.fromkeys(axes, torch.export.Dim.DYNAMIC),)
        return by_dynamo(contract, {"images": images}, shapes=shapes, **options)


def _timed(own: OwnModel, written: Written) -> Cell:
    """Of a batch of 1 on one thread: ratios of interleaved rounds. `others`: threads that other programs kept busy."""
    feed = dict(written.references[0].given.arrays)
    contract = contract_module(own.model, own.task, own.level, own.forward)
    images = torch.from_numpy(feed["images"])
    plain = _plain(own, written.target.exporter, written.path.with_name("plain.onnx")).path

    def eager() -> object:
        with torch.inference_mode():
            return contract(images)

    runs = {"ours": session_run(open_session(written.path.read_bytes(), THREADS), feed), "eager": eager}
    if plain is not None:
        runs["plain"] = session_run(open_session(plain.read_bytes(), THREADS), feed)
    begin, busy = time.perf_counter(), busy_elsewhere()
    one_round = sum(max(times) for times in interleaved(runs, 1).values())
    seconds = interleaved(runs, min(max(int(ENOUGH / one_round), ROUNDS[0]), ROUNDS[1]))
    others = (busy_elsewhere() - busy) / (time.perf_counter() - begin)
    return {
        "verdict": "passed",
        "ms": 1e3 * statistics.median(seconds["ours"]),
        "of_eager": ratio(seconds, "ours", "eager"),
        "of_plain": None if plain is None else ratio(seconds, "ours", "plain"),
        "others": others,
    }


def _in_openvino(own: OwnModel, path: Path, target: Target, references: Sequence[GraphReference]) -> str:
    """Right, or what is wrong, or why it is refused. The same file where both runtimes take the same graphs."""
    try:
        if get_backend(OPENVINO).dialect != get_backend(DEFAULT_BACKEND).dialect:
            path = path.with_name("openvino.onnx")
            export_referenced(own.model, own.task, target.with_(backend=OPENVINO), own.forward, references, path)
        return _words(_compared(own, path, target.with_(backend=OPENVINO), references))
    except ZooportError as error:
        return f"refused: {error}"


def _engine(own: OwnModel, references: Sequence[GraphReference], path: Path, exporter: str) -> Cell:
    """Whether tensorrt_rtx builds an engine on the CPU, of a fixed size. That says nothing of its numbers."""
    target = Target(own.axes(second=False), exporter=exporter, level=own.level, backend=TENSORRT)
    try:
        export_referenced(own.model, own.task, target, own.forward, references[: len(BATCHES)], path)
        graph = onnx.load(path)
        graph, _ = rewrite_graph(graph, steps(preflight(graph, target)))
        return {"verdict": "passed", **built_engine(graph, target)}
    except ZooportError as error:
        return {"verdict": "refused", "reason": str(error)}


def _line(error: BaseException) -> str:
    """One line of the innermost error, without the value that torch blames: its description has paths of a machine."""
    while error.__cause__ is not None:
        error = error.__cause__
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {line.partition('  [Caused by ')[0]}"


STAGES: Mapping[str, Callable[[OwnModel, Written], Cell]] = {"proof": _proved, "latency": _timed}
"""What is asked of a file: whether its numbers are right, on any machine, and how quick it is, on an idle one."""
