"""A cell of the comparison with mmdeploy: one row by one tool, right at which batch, and how quick."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from matrix import EXPORTERS
from measured import busy_elsewhere, interleaved, ratio
from mmdeploy_peer_case import GIVEN, Case, Given, case_of
from mmdeploy_peer_compare import (
    COUNT,
    EQUAL,
    Difference,
    LogitDifference,
    compared_boxes,
    compared_logits,
    of_mmdeploy,
    of_mmdetection,
    of_zooport,
)
from mmdeploy_peer_export import OPSETS, by_mmdeploy, by_zooport, provide
from mmdeploy_peer_rows import PASSED, PEER, REFUSED, VERDICTS, WRONG
from onnxruntime import InferenceSession
from sessions import open_session, session_run
from torch import Tensor

from tests.small_mmdet import SIDES

BATCHES = 2  # of GIVEN, which decide the verdict; the second size is a column of its own
ROUNDS = 7
THREADS = 1  # of both sides
Cell = dict[str, Any]


def measured_cell(name: str, tool: str, *, latency: bool) -> Cell:
    """What the table says of a row by a tool; `tool`: zooport's with its exporter, or a peer."""
    torch.set_num_threads(THREADS)
    exporter = tool.partition(" ")[2]
    case = case_of(name)
    expected = [_checked(case, case.eager(given)) for given in GIVEN]  # before a peer is imported
    if exporter in EXPORTERS:
        return _tried(case, expected, partial(by_zooport, case, exporter), latency=latency, own=True)
    try:
        version = provide(Path(os.environ[PEER]), tool, detects=case.detects)
    except Exception as error:  # noqa: BLE001 - what the peer raises is what is measured
        return {"verdict": REFUSED, "reason": f"its import fails: {line(error)}"}
    cells = []
    for opset in OPSETS:
        cell = _tried(case, expected, partial(by_mmdeploy, case, opset), latency=latency)
        cells.append(cell | {"opset": opset, "version": version})
        if cell["verdict"] == PASSED:
            break
    return min(cells, key=lambda cell: VERDICTS.index(cell["verdict"]))


def _checked(case: Case, expected: Any) -> Any:
    """Raises AssertionError where eager finds nothing in an image, or gives one label alone."""
    if case.detects:
        if not all(len(instances["scores"]) for instances in expected):
            raise AssertionError("eager finds nothing in an image, so there is nothing to compare")
        return [of_mmdetection(instances) for instances in expected]
    logits = expected.numpy()
    if len(np.unique(logits.argmax(axis=1))) == 1:
        raise AssertionError("eager gives one label, so there is nothing to compare")
    return logits


def _tried(
    case: Case, expected: Sequence[Any], export: Callable[[Path], str], *, latency: bool, own: bool = False
) -> Cell:
    """`own`: zooport's graph, whose input and outputs are its own."""
    inputs = case.images if own else case.normalised
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            fixed = export(path)
            session = open_session(path.read_bytes(), THREADS)
        except Exception as error:  # noqa: BLE001 - what a tool or a runtime raises is what is measured
            return {"verdict": REFUSED, "reason": line(error)}
        if latency:
            return _timed(case, session, inputs(GIVEN[0]))
        nodes = len(onnx.load(path, load_external_data=False).graph.node)
    return _proved(expected, session, inputs, fixed) | {"nodes": nodes}


def _proved(
    expected: Sequence[Any], session: InferenceSession, inputs: Callable[[Given], Tensor], fixed: str | None
) -> Cell:
    """`fixed`: why the graph has one size, or nothing."""
    findings, runs = {}, {}
    for given, reference in zip(GIVEN, expected, strict=True):
        if fixed and given.size != SIDES:
            runs[given.name] = f"{REFUSED}: {fixed}"
            continue
        try:
            findings[given.name] = found = _compared(reference, session, inputs(given), given.size)
            runs[given.name] = found.words
        except Exception as error:  # noqa: BLE001 - as above
            runs[given.name] = f"{REFUSED}: {line(error)}"
    right = all(runs[given.name] == EQUAL for given in GIVEN[:BATCHES])
    return {
        "verdict": PASSED if right else WRONG,
        "runs": runs,
        "errors": {name: found.largest for name, found in findings.items()},
    }


def _compared(
    expected: Any, session: InferenceSession, images: Tensor, size: tuple[int, int]
) -> Difference | LogitDifference:
    """What the graph gives beside what eager gives."""
    names = [output.name for output in session.get_outputs()]
    values = session.run(None, {session.get_inputs()[0].name: images.numpy()})
    if len(names) == 1:
        return compared_logits(expected, values[0])
    outputs = dict(zip(names, values, strict=True))
    return compared_boxes(expected, of_zooport(outputs, size) if COUNT in outputs else of_mmdeploy(outputs, size))


def _timed(case: Case, session: InferenceSession, images: Tensor) -> Cell:
    """Of a batch of 1 on one thread: the ratio to eager. `others`: threads that other programs kept busy meanwhile."""
    runs = {
        "graph": session_run(session, {session.get_inputs()[0].name: images.numpy()}),
        "eager": lambda: case.eager(GIVEN[0]),
    }
    begin, busy = time.perf_counter(), busy_elsewhere()
    seconds = interleaved(runs, ROUNDS)
    others = (busy_elsewhere() - busy) / (time.perf_counter() - begin)
    milliseconds = 1e3 * statistics.median(seconds["graph"])
    return {"verdict": PASSED, "of_eager": ratio(seconds, "graph", "eager"), "ms": milliseconds, "others": others}


def line(error: BaseException) -> str:
    """Of an error, its kind and the first line of its message."""
    words = str(error).strip().splitlines()
    return f"{type(error).__name__}: {words[0]}" if words else type(error).__name__
