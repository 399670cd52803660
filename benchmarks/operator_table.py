"""The operator table: operators x exporters x opsets, as torch alone exports them, and with zooport's rewriters.

Each cell says how far a call of the operator gets: refused (the exporter raises), exports (ONNX Runtime refuses the
file), loads (it fails there, or its numbers are not PyTorch's), equal.

    python benchmarks/operator_table.py --page docs/measured/operators.md

One process tries all operators with one exporter in one form, for it takes longer to begin than to export. Where it
ends by itself, the call it was at has crashed, and another one goes on. The script may be interrupted: cells are kept
in --state and done once.
"""

import argparse
import io
import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
import onnx
import onnxruntime as ort
import torch
from measured import keep, machine, sources, state_of, write_page
from operator_cases import CASES, Call
from torch import Tensor

import rewriters.export_onnx  # noqa: F401  # declares the rewriters
from rewriters import rewriting
from rewriters.graph_passes.expand_operators import expand_operators
from rewriters.ops.dynamo_nodes import dynamo_nodes
from rewriters.ops.torchscript_nodes import torchscript_nodes
from rewriters.symbolic import operators_for
from zoo.target import DYNAMO_MIN_OPSET, OPSETS, TORCHSCRIPT_MAX_OPSET, AxisRange, Target

PACKAGES = ("torch", "torchvision", "onnx", "onnxscript", "onnxruntime")
FORMS = {"torch": "torch alone", "zooport": "with zooport's rewriters"}
OPSETS_OF = {
    "torchscript": range(DYNAMO_MIN_OPSET, TORCHSCRIPT_MAX_OPSET + 1),
    "dynamo": range(DYNAMO_MIN_OPSET, OPSETS.stop),
}
BOUND = 1e-4  # of the largest absolute value, or of 1 where that is smaller
SCRIPTS = ("benchmarks/operator_cases.py", "benchmarks/operator_table.py")
SOURCES = {"torch": SCRIPTS, "zooport": (*SCRIPTS, "rewriters")}  # what the cells of each form hang on
MARK = "cell: "  # torch prints, too
SHORT = {
    "UnsupportedOperatorError": "unknown",
    "DispatchError": "unknown",
    "NotImplemented": "no kernel",
    "InvalidGraph": "invalid",
    "ExportError": "no form",
}
TOO_NEW = "Target opset version"  # onnxscript's version converter, which steps in where a node is not its own


def main() -> int:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", help="default: all")
    parser.add_argument("--state", type=Path, default=ROOT / "work_dirs/operator_table", help="folder of the cells")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--work", nargs=2, metavar=("EXPORTER", "FORM"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        warnings.simplefilter("ignore")
        logging.disable(logging.ERROR)
        exporter, form = args.work
        _work(exporter, form, json.load(sys.stdin))
        return 0
    names = args.operators or list(CASES)
    state: dict[str, Any] = {}
    for form in FORMS:
        kept = args.state / f"{form}.json"
        cells = state_of(kept, sources(*SOURCES[form]), *PACKAGES)
        for exporter in OPSETS_OF:
            _fill(cells, kept, names, exporter, form)
        state |= cells
    content = _table(state, names)
    print(content)
    if args.page:
        intro = (
            "How far a call of an operator gets at which opsets: refused by the exporter; exports, and ONNX Runtime "
            f"refuses the file; loads, and the numbers are not PyTorch's to {BOUND:g} of their range; equal.\n\n"
            + machine(*PACKAGES)
        )
        write_page(args.page, "Operators", intro, "benchmarks/operator_table.py", content)
    return 0


def _key(name: str, exporter: str, form: str, opset: int) -> str:
    return f"{name} | {exporter} | {form} | {opset}"


def _fill(state: dict[str, Any], path: Path, names: Sequence[str], exporter: str, form: str) -> None:
    """Try what is not in the state yet, and keep each cell as soon as it is done."""
    cells = [(name, opset) for opset in OPSETS_OF[exporter] for name in names]
    while todo := [(name, opset) for name, opset in cells if _key(name, exporter, form, opset) not in state]:
        command = [sys.executable, "-W", "ignore", __file__, "--work", exporter, form]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as worker:
            assert worker.stdin is not None
            assert worker.stdout is not None
            with worker.stdin as stream:
                json.dump(todo, stream)
            found = (json.loads(line.removeprefix(MARK)) for line in worker.stdout if line.startswith(MARK))
            done = 0
            for (name, opset), cell in zip(todo, found, strict=False):
                state[_key(name, exporter, form, opset)] = cell
                keep(state, path)
                print(f"{_key(name, exporter, form, opset)}: {' '.join(cell)}", flush=True)
                done += 1
        if done < len(todo):
            state[_key(todo[done][0], exporter, form, todo[done][1])] = ("refused", f"Crash: {worker.returncode}")
            keep(state, path)


def _work(exporter: str, form: str, todo: Sequence[tuple[str, int]]) -> None:
    """What the process does: one line for each cell."""
    torch.set_num_threads(1)
    side = AxisRange.fixed(64)
    for opset, cells in groupby(todo, key=lambda cell: cell[1]):
        target = Target({"height": side, "width": side}, exporter=exporter, opset=opset)
        with _in_force(target, form) as table:
            for name, _ in cells:
                print(MARK + json.dumps(_tried(name, target, table)), flush=True)


@contextmanager
def _in_force(target: Target, form: str) -> Iterator[Mapping[Any, Any]]:
    """What zooport changes at an export; gives the table for the dynamo exporter."""
    if form == "torch":
        yield {}
        return
    operators = operators_for(target)
    with rewriting(target), torchscript_nodes(operators, target.opset):
        yield dynamo_nodes(operators)


def _tried(name: str, target: Target, table: Mapping[Any, Any]) -> tuple[str, str]:
    """How far it gets, and why not further."""
    torch.manual_seed(0)
    compute, make = CASES[name]
    module, tensors = Call(compute).eval(), tuple(make())
    reached = "refused"
    try:
        with torch.no_grad():
            expected = module(*tensors)
            model = _exported(module, tensors, target, table)
        expand_operators(model, target)
        reached = "exports"
        options = ort.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        reached = "loads"
        feed = {value.name: x.numpy() for value, x in zip(session.get_inputs(), tensors, strict=True)}
        for got, want in zip(session.run(None, feed), expected, strict=True):
            _check_equal(got, want.numpy())
    except Exception as error:  # noqa: BLE001  # whatever an exporter or a runtime raises is the cell
        while error.__cause__ is not None:
            error = error.__cause__  # type: ignore[assignment]
        return reached, f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}"
    return "equal", ""


def _exported(
    module: torch.nn.Module, tensors: tuple[Tensor, ...], target: Target, table: Mapping[Any, Any]
) -> onnx.ModelProto:
    if target.exporter == "torchscript":
        stream = io.BytesIO()
        torch.onnx.export(module, tensors, stream, dynamo=False, opset_version=target.opset)  # type: ignore[arg-type]
        return onnx.load_model_from_string(stream.getvalue())
    program = torch.onnx.export(
        module, tensors, dynamo=True, opset_version=target.opset, custom_translation_table=dict(table), verbose=False
    )
    assert program is not None
    return program.model_proto


class OtherTypeError(Exception):
    """Another dtype or shape than PyTorch's."""


class OtherNumbersError(Exception):
    """Other numbers than PyTorch's."""


def _check_equal(got: Any, want: Any) -> None:
    if got.dtype != want.dtype or got.shape != want.shape:
        raise OtherTypeError(f"{got.dtype}{list(got.shape)} for {want.dtype}{list(want.shape)}")
    difference = np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0)
    if not difference <= BOUND * max(1.0, float(np.abs(want).max(initial=0))):
        raise OtherNumbersError(f"off by {difference:.3g}")


def _table(state: Mapping[str, Any], names: Sequence[str]) -> str:
    """A row for an operator; in a cell, how far it gets at which opsets, and a word for why not further."""
    columns = [(exporter, form) for exporter in OPSETS_OF for form in FORMS]
    lines = ["| operator | " + " | ".join(f"{exporter}, {FORMS[form]}" for exporter, form in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    left = []
    for name in names:
        words = []
        for exporter, form in columns:
            cells = [(opset, state.get(_key(name, exporter, form, opset))) for opset in OPSETS_OF[exporter]]
            words.append(_runs([(opset, _word(cell)) for opset, cell in cells]))
            reasons = [cell[1] for _, cell in cells if form == "zooport" and cell is not None and cell[1]]
            left += [f"- {name}, {exporter}: {reason}" for reason in reasons[-1:]]
        lines.append(f"| {name} | " + " | ".join(words) + " |")
    return "\n".join(
        [
            *lines,
            "",
            *(["What is left with zooport's rewriters, at the newest of those opsets:", "", *left] if left else []),
        ]
    )


def _word(cell: Sequence[str] | None) -> str:
    if cell is None:
        return "not run"
    reached, reason = cell
    kind = reason.partition(":")[0]
    if TOO_NEW in reason:
        return f"{reached} (opset too new)"
    return f"{reached} ({SHORT.get(kind, kind.removesuffix('Error'))})" if reason else reached


def _runs(words: Sequence[tuple[int, str]]) -> str:
    """18-20 refused (unknown), 21-26 equal."""
    found = []
    for word, run in groupby(words, key=lambda one: one[1]):
        opsets = [opset for opset, _ in run]
        found.append(f"{opsets[0]}{f'-{opsets[-1]}' if len(opsets) > 1 else ''} {word}")
    return ", ".join(found)


if __name__ == "__main__":
    sys.exit(main())
