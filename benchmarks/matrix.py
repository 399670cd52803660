"""What the pass matrices share: resumable cells, each in a process of its own, an export held to its model, a table."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import torch
from measured import keep
from torch import Tensor, nn

from pipeline.export.output_specs import output_specs
from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import GraphReference, graph_references
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx
from zoo.families import contract_module, family_of
from zoo.target import AxisRange, Target
from zoo.tasks import Task
from zoo.tensor_spec import TensorSpec

EXPORTERS = ("dynamo", "torchscript")
LIMIT = 1500  # seconds of a cell
Cell = tuple[str, ...]
"""What is exported, and how: the arguments of --cell."""


def run_cells(script: str, cells: Sequence[Cell], state: dict[str, Any], path: Path) -> None:
    """Run those that are not in the state yet by `script --cell ...`, and keep each as soon as it is done."""
    for cell in cells:
        key = " | ".join(cell)
        if key not in state:
            state[key] = _in_a_process(script, cell)
            keep(state, path)
            print(f"{key}: {state[key]['verdict']} ({state[key]['seconds']:.0f} s)", flush=True)


def all_passed(cells: Sequence[Cell], state: Mapping[str, Any]) -> bool:
    """Whether every cell is green."""
    return all(state[" | ".join(cell)]["verdict"] == "passed" for cell in cells)


def _in_a_process(script: str, cell: Cell) -> dict[str, Any]:
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, script, "--cell", *cell],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
    except subprocess.TimeoutExpired:
        return {"verdict": "failed", "reason": f"took more than {LIMIT} s", "seconds": LIMIT}
    seconds = time.perf_counter() - begin
    if done.returncode:
        words = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        return {"verdict": "failed", "reason": words, "seconds": seconds}
    return {**json.loads(done.stdout.splitlines()[-1]), "seconds": seconds}


def exported_and_compared(
    model: nn.Module, task: Task, exporter: str, cases: Sequence[Tensor], level: str = "final", **forward: Any
) -> tuple[int, int]:
    """One export for all the batches of images, run on each: how much was compared, and was borderline.

    Axes that differ between `cases` are dynamic. Raises AssertionError where a gate is missed, or where the reference
    finds nothing that could be compared.
    """
    shapes = [tuple(images.shape) for images in cases]
    batches, _, heights, widths = zip(*shapes, strict=True)
    target = Target(
        {
            "batch": AxisRange(min(batches), max(batches) if len(cases) == 1 else 2, max(batches)),
            "height": AxisRange(min(heights), heights[0], max(heights)),
            "width": AxisRange(min(widths), widths[0], max(widths)),
        },
        exporter=exporter,
        level=level,
    )
    inputs = [GraphInput((), {"images": images.numpy()}) for images in cases]
    references = graph_references(model, task, level, forward, inputs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        specs = export_referenced(model, task, target, forward, references, path)
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    compared = borderline = 0
    for reference in references:
        shape = list(reference.given.shape)
        outputs = dict(zip([spec.name for spec in specs], session.run(None, dict(reference.given.arrays)), strict=True))
        findings = compare_outputs(
            task,
            level,
            reference.outputs,
            outputs,
            merged_gates()["graph"],
            family_of(model).decision_rule(model),
            reference.answer.logits,
        )
        if findings.failures:
            raise AssertionError(f"{shape}: {'; '.join(findings.failures)}")
        found = _amount(reference.outputs)
        if not found:
            raise AssertionError(f"{shape}: PyTorch finds nothing, so there is nothing to compare")
        compared += found
        borderline += len(findings.borderline)
    return compared, borderline


def export_referenced(
    model: nn.Module,
    task: Task,
    target: Target,
    forward: Mapping[str, Any],
    references: Sequence[GraphReference],
    path: Path,
) -> tuple[TensorSpec, ...]:
    """Write the file of the model's contract at the target's level: the specs of its outputs.

    The example is the first reference's inputs, repeated to the target's preferred batch. Raises as export_onnx does.
    """
    contract = contract_module(model, task, target.level, forward)
    specs = output_specs(contract.outputs(task, target.level), target, references)
    example = {key: _of_batch(array, target.batch.opt) for key, array in references[0].given.arrays.items()}
    example |= {key: torch.tensor([value]) for key, value in contract.defaults.items()}
    export_onnx(contract, target, path, example=example, output_specs=specs)
    return specs


def _of_batch(array: Any, batch: int) -> torch.Tensor:
    """The tensor, repeated to that length."""
    return torch.from_numpy(np.concatenate([array] * batch)[:batch])


def _amount(outputs: Mapping[str, Any]) -> int:
    """Detections; or the pixels of a label map with more than one label; or the logits."""
    if "num_dets" in outputs:
        return int(outputs["num_dets"].sum())
    (found,) = outputs.values()
    return 0 if len(np.unique(found)) == 1 else int(found.size)


def table(state: Mapping[str, Any], rows: Sequence[str], forms: Sequence[str], what: str) -> str:
    """The cells by row, form and exporter, and a line for each that is not green."""
    columns = [(form, exporter) for form in forms for exporter in EXPORTERS]
    lines = [f"| {what} | " + " | ".join(f"{form}, {exporter}" for form, exporter in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    reasons = []
    for row in rows:
        words = []
        for form, exporter in columns:
            cell = state.get(f"{row} | {exporter} | {form}")
            if cell is None:
                words.append("not run")
            elif cell["verdict"] == "passed":
                words.append(f"passed ({cell['compared']}, {cell['borderline']})")
            else:
                words.append("failed")
                reasons.append(f"- {row}, {exporter}, {form}: {cell['reason']}")
        lines.append(f"| {row} | " + " | ".join(words) + " |")
    return "\n".join([*lines, "", *(reasons or ["Every cell that was run passed."])])
