"""The table of TensorRT: every model, fp32, fp16 and int8, static and dynamic batch: is an engine built, how large.

Every shipped config with its weights, torchvision's whole families with random ones (calibrated for the detectors).
Each is exported once for a batch of 1 and once for a batch of 1 to 4, at level final (decoded where that is refused);
fp16 and int8 are made of that file. tensorrt_rtx builds the engine on the CPU: that it takes the graph says nothing of
the numbers. Each cell is a process of its own.

    python benchmarks/tensorrt_table.py --page docs/measured/tensorrt.md
    python benchmarks/tensorrt_table.py --of torchvision --page docs/measured/tensorrt_torchvision.md

The script may be interrupted: cells are kept in --state and done once. Exit code 3 where a cell has no engine.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
import onnx
from matrix import all_passed, run_cells
from measured import machine, shipped_configs, sources, state_of, write_page
from tensorrt_models import BACKEND, BATCHES, CAPABILITIES, CODE, built_engine, exported, model_names, sample_inputs

from backends import available
from rewriters.export_onnx import tensor_spec
from zoo.errors import ZooportError
from zoo.target import Target

PRECISIONS = ("fp32", "fp16", "int8")
LEVELS = ("final", "decoded")
GROUPS = {
    "shipped": "the shipped configs with their weights",
    "torchvision": "torchvision's families with random weights",
}
SAMPLES = 4  # for the ranges of fp16 and int8; accuracy is judged elsewhere
MEGABYTE = 1e6


def main() -> int:
    """Print and write the table; 3 where a cell has no engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", default="shipped", choices=GROUPS, help="default: shipped")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="models whose name has one of these")
    parser.add_argument("--precisions", nargs="+", default=PRECISIONS, choices=PRECISIONS)
    parser.add_argument("--state", type=Path, default=ROOT / "work_dirs/tensorrt_table.json")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=3, metavar=("MODEL", "PRECISION", "FORM"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        warnings.simplefilter("ignore")
        print(json.dumps(_cell(*args.cell)))
        return 0
    shipped = {Path(path).stem for path in shipped_configs()}
    group = [name for name in model_names() if (name in shipped) == (args.of == "shipped")]
    names = [name for name in group if not args.only or any(word in name for word in args.only)]
    state = state_of(args.state, sources(*CODE, "backends"), "torch", "torchvision", "tensorrt_rtx")
    cells = [(name, precision, form) for name in names for precision in args.precisions for form in BATCHES]
    run_cells(__file__, cells, state, args.state)
    content = table(state, group)
    print(content)
    if args.page:
        command = "benchmarks/tensorrt_table.py" + (f" --of {args.of}" if args.of != "shipped" else "")
        write_page(args.page, f"Engines of TensorRT, {args.of} models", _intro(args.of), command, content)
    return 0 if all_passed(cells, state) else 3


def _intro(group: str) -> str:
    opt = BATCHES["dynamic batch"]
    return (
        f"Whether tensorrt_rtx builds an engine of each model's graph on a CPU: {GROUPS[group]}, at level final, or "
        "decoded where the table says so. A cell gives the seconds of one build, beside other work of the machine, and "
        "the size of the plan. Static: a batch of 1. "
        f"Dynamic batch: one profile, {opt.min}:{opt.opt}:{opt.max}. Compute capability {', '.join(CAPABILITIES)}. No "
        "engine was run here: what it computes needs a GPU. The same graphs are held to the unpatched models in ONNX "
        "Runtime.\n\n" + machine("torch", "torchvision", "tensorrt_rtx")
    )


def _cell(name: str, precision: str, form: str) -> dict[str, Any]:
    available()  # registers the backends, whose dialects rewriters and converters ask for
    reasons: list[str] = []
    for level in LEVELS:
        try:
            return _built(name, precision, form, level) | {"reasons": reasons}
        except ZooportError as error:
            reasons.append(f"{level}: {error}")
    return {"verdict": "refused", "reason": "; ".join(reasons)}


def _built(name: str, precision: str, form: str, level: str) -> dict[str, Any]:
    """The cell of one level. Raises ExportError with the refused node."""
    path, target = exported(name, form, level)
    model = _converted(onnx.load(path), precision, target)
    return {"verdict": "passed", "level": level, **built_engine(model, target, precision)}


def _converted(model: onnx.ModelProto, precision: str, target: Target) -> onnx.ModelProto:
    """The graph in that precision."""
    if precision == "fp32":
        return model
    samples = sample_inputs(target, SAMPLES)
    feeds = [_feed(model, {name: array[at : at + 1] for name, array in samples.items()}) for at in range(SAMPLES)]
    from rewriters.precision import converter

    converted: onnx.ModelProto = converter(precision, BACKEND)(model, target.precision_options, feeds)[0]
    return converted


def _feed(model: onnx.ModelProto, sample: dict[str, Any]) -> dict[str, Any]:
    """The sample, and 3 for a setting: the scale of super-resolution."""
    rest = [tensor_spec(value) for value in model.graph.input if value.name not in sample]
    return sample | {spec.name: np.array([3], spec.dtype) for spec in rest}


def table(state: dict[str, Any], names: Sequence[str]) -> str:
    """The cells by model, precision and form, and a line for each that has no engine or another level."""
    columns = [(precision, form) for precision in PRECISIONS for form in BATCHES]
    lines = [
        "| model | " + " | ".join(f"{precision}, {form}" for precision, form in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    reasons: list[str] = []
    for name in names:
        words = []
        for precision, form in columns:
            cell = state.get(f"{name} | {precision} | {form}")
            words.append(_words(cell))
            reasons.extend(f"- {name}, {precision}, {form}: {line}" for line in _reasons(cell))
        lines.append(f"| {name} | " + " | ".join(words) + " |")
    return "\n".join([*lines, "", *(reasons or ["An engine was built of every cell that was run."])])


def _words(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return "not run"
    if cell["verdict"] != "passed":
        return "refused" if cell["verdict"] == "refused" else "failed"
    words = f"{cell['build_seconds']:.1f} s, {cell['bytes'] / MEGABYTE:.1f} MB"
    return words if cell["level"] == "final" else f"{words} ({cell['level']})"


def _reasons(cell: dict[str, Any] | None) -> list[str]:
    if cell is None:
        return []
    return cell["reasons"] if cell["verdict"] == "passed" else [cell["reason"]]


if __name__ == "__main__":
    sys.exit(main())
