"""The pass matrix of torchvision's whole detectors: both exporters, static, dynamic batch, dynamic height and width.

The complete architectures (ResNet-50 where that is the one) with calibrated random weights, on shipped validation
pictures, ONNX Runtime against the unpatched model, judged by the gates of every deployment. "static" exports batches
1, 2 and 5 each; "dynamic batch" and "dynamic size" run one file at all of them. Each cell is a process of its own.

    python benchmarks/torchvision_matrix.py --page docs/measured/torchvision_matrix.md

The script may be interrupted: cells are kept in --state and done once.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import onnxruntime as ort
from measured import keep, machine, state_of, write_page
from torchvision_models import ARCHITECTURES, calibrated, made_of, pictures, task_of

from pipeline.output_specs import output_specs
from pipeline.parity.decision_rule import decision_rule
from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import graph_references
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx
from zoo.contract import contract_module
from zoo.target import AxisRange, Target

EXPORTERS = ("dynamo", "torchscript")
SIZE, LARGE, ODD, SMALL = (256, 320), (608, 800), (251, 315), (192, 256)
BATCHES = (1, 2, 5)
FORMS = ("static", "dynamic batch", "dynamic size", "800 px")
LIMIT = 1500  # seconds of a cell
AT_MOST = 0.02  # of the detections may be borderline: explained by the model's own thresholds


def main() -> int:
    """Print and write the matrix; 3 where a cell is not green."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", help="default: all")
    parser.add_argument("--state", type=Path, default=ROOT / "work_dirs/torchvision_matrix.json")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=3, metavar=("ARCHITECTURE", "EXPORTER", "FORM"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        warnings.simplefilter("ignore")
        print(json.dumps(_cell(*args.cell)))
        return 0
    state = state_of(args.state, made_of(), "torch", "torchvision", "onnxruntime")
    cells = [
        (architecture, exporter, form)
        for architecture in args.architectures or ARCHITECTURES
        for form in FORMS
        for exporter in EXPORTERS
    ]
    for cell in cells:
        key = " | ".join(cell)
        if key not in state:
            state[key] = _in_a_process(cell)
            keep(state, args.state)
            print(f"{key}: {state[key]['verdict']} ({state[key]['seconds']:.0f} s)", flush=True)
    table, reasons = _table(state)
    print(f"{table}\n\n{reasons}")
    if args.page:
        intro = (
            "Complete architectures with calibrated random weights on four shipped validation pictures, ONNX Runtime "
            "against the unpatched model, at the gates of every deployment (docs/deployments.md). Static: one export "
            f"for each of the batches 1, 2 and 5, at {SIZE[0]}x{SIZE[1]}. Dynamic batch: one file at 1, 2, 5. Dynamic "
            f"size: one file at {SIZE[0]}x{SIZE[1]}, {SMALL[0]}x{SMALL[1]} and {ODD[0]}x{ODD[1]}, with these batches. "
            f"800 px: {LARGE[0]}x{LARGE[1]}, batch 1. A cell gives the number of detections compared and how many of "
            "them were borderline.\n\n" + machine("torch", "torchvision", "onnxruntime")
        )
        write_page(
            args.page, "torchvision's detectors", intro, "benchmarks/torchvision_matrix.py", f"{table}\n\n{reasons}"
        )
    return 0 if all(state[" | ".join(cell)]["verdict"] == "passed" for cell in cells) else 3


def _in_a_process(cell: tuple[str, str, str]) -> dict[str, Any]:
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--cell", *cell],
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


def _cell(architecture: str, exporter: str, form: str) -> dict[str, Any]:
    large = form == "800 px"
    model = calibrated(architecture, LARGE if large else SIZE)
    cases: list[tuple[int, tuple[int, int]]]
    if large:
        cases = [(1, LARGE)]
    elif form == "dynamic size":
        cases = list(zip(BATCHES, (SIZE, SMALL, ODD), strict=True))
    else:
        cases = [(batch, SIZE) for batch in BATCHES]
    groups = [cases] if form.startswith("dynamic") else [[case] for case in cases]
    compared = borderline = 0
    for group in groups:
        with tempfile.TemporaryDirectory() as folder:
            found, near = _exported_and_compared(model, architecture, exporter, group, Path(folder) / "model.onnx")
            compared, borderline = compared + found, borderline + near
    if borderline > AT_MOST * compared:
        raise AssertionError(f"{borderline} of {compared} detections are borderline")
    return {"verdict": "passed", "compared": compared, "borderline": borderline}


def _exported_and_compared(
    model: Any, architecture: str, exporter: str, cases: list[tuple[int, tuple[int, int]]], path: Path
) -> tuple[int, int]:
    batches, heights, widths = zip(*((batch, *size) for batch, size in cases), strict=True)
    target = Target(
        batch=AxisRange(min(batches), max(batches) if len(cases) == 1 else 2, max(batches)),
        height=AxisRange(min(heights), heights[0], max(heights)),
        width=AxisRange(min(widths), widths[0], max(widths)),
        exporter=exporter,
    )
    task = task_of(architecture)
    inputs = [GraphInput((), {"images": pictures(batch, size).numpy()}) for batch, size in cases]
    references = graph_references(model, task, "final", {}, inputs)
    contract = contract_module(model, task, "final", {})
    specs = output_specs(contract.outputs(task, "final"), target, references)
    export_onnx(contract, target, path, example={"images": pictures(target.batch.opt, cases[0][1])}, output_specs=specs)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    compared = borderline = 0
    for reference in references:
        shape = list(reference.given.shape)
        outputs = dict(zip([spec.name for spec in specs], session.run(None, dict(reference.given.arrays)), strict=True))
        gates, rule = merged_gates()["graph"], decision_rule(model)
        findings = compare_outputs(task.name, "final", reference.outputs, outputs, gates, rule)
        if findings.failures:
            raise AssertionError(f"{shape}: {'; '.join(findings.failures)}")
        if not reference.outputs["num_dets"].any():
            raise AssertionError(f"{shape}: PyTorch finds nothing, so there is nothing to compare")
        compared += int(reference.outputs["num_dets"].sum())
        borderline += len(findings.borderline)
    return compared, borderline


def _table(state: dict[str, Any]) -> tuple[str, str]:
    """The table, and a line for each cell that is not green."""
    columns = [(form, exporter) for form in FORMS for exporter in EXPORTERS]
    lines = ["| architecture | " + " | ".join(f"{form}, {exporter}" for form, exporter in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    reasons = []
    for architecture in ARCHITECTURES:
        words = []
        for form, exporter in columns:
            cell = state.get(f"{architecture} | {exporter} | {form}")
            if cell is None:
                words.append("not run")
            elif cell["verdict"] == "passed":
                words.append(f"passed ({cell['compared']}, {cell['borderline']})")
            else:
                words.append("failed")
                reasons.append(f"- {architecture}, {exporter}, {form}: {cell['reason']}")
        lines.append(f"| {architecture} | " + " | ".join(words) + " |")
    return "\n".join(lines), "\n".join(reasons) or "Every cell that was run passed."


if __name__ == "__main__":
    sys.exit(main())
