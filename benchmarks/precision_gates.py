"""fp16 and int8 of every shipped model: the metric on the gate split, as zooport deploy judges it.

Each cell is a deploy for ONNX Runtime in a process of its own: the metric of PyTorch, of the deployment, and for fp16
that of the graph with every fp16 result rounded to fp16, which ONNX Runtime's CPU provider by itself does not do.
Super-resolution, which has no gate split, is judged on its own data set.

    python benchmarks/precision_gates.py --precisions fp16 --page docs/measured/precision.md
    python benchmarks/precision_gates.py --precisions int8 --page docs/measured/precision_int8.md

The script may be interrupted: cells are kept in --state and done once. Exit code 3 where a gate is missed.
"""

import argparse
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from matrix import all_passed, run_cells
from measured import PRECISION_CODE, machine, shipped_configs, sources, state_of, write_page

from backends.refused import NothingComputedError
from pipeline.deploying import make_deployment
from pipeline.job.deploy_target import deploy_target
from pipeline.job.job import plan_job
from zoo.config import load_config
from zoo.processor import processor
from zoo.target import Target

PRECISIONS = ("fp16", "int8")
CODE = (*PRECISION_CODE, "pipeline/export/precision_step.py")
MEGABYTE = 1e6
IN_PLACE = "tensorrt-rtx"
DTYPES = ("float32", "float16", "int8")
SHARED = (
    "The main metric (points, or dB for super-resolution) of each shipped model for ONNX Runtime, the difference to "
    "PyTorch, and the gate. Layers are convolutions and products of matrices, of the file and as ONNX Runtime ran them."
)
INTRO = {
    "fp16": "Its CPU provider computes fp16 in fp32, so fp16 is also judged with every result rounded to fp16.",
    "int8": (
        "Where ONNX Runtime computes nothing in int8, a deploy is refused: judged is that for "
        f"{IN_PLACE}, whose graph ONNX Runtime runs here in floats, rounded where the graph rounds. No kernel of a "
        "deployment for ONNX Runtime can saturate, so that a CPU without VNNI computes the same sums."
    ),
}


def main() -> int:
    """Print and write the table; 3 where a gate is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="models whose name has one of these")
    parser.add_argument("--precisions", nargs="+", default=PRECISIONS, choices=PRECISIONS)
    parser.add_argument("--state", type=Path, default=ROOT / "work_dirs/precision_gates.json")
    parser.add_argument("--page", type=Path)
    parser.add_argument(
        "--done", action="store_true", help="the cells that are in --state already; the page names others"
    )
    parser.add_argument("--cell", nargs=2, metavar=("CONFIG", "PRECISION"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        warnings.simplefilter("ignore")
        print(json.dumps(_cell(*args.cell)))
        return 0
    configs = shipped_configs(args.only)
    state = state_of(args.state, sources(*CODE), "torch", "onnx", "onnxruntime")
    cells = [(config, precision) for config in configs for precision in args.precisions]
    if not args.done:
        run_cells(__file__, cells, state, args.state)
    keys = [" | ".join(cell) for cell in cells]
    content = table({key: state[key] for key in keys if key in state})
    if missing := [key for key in keys if key not in state]:
        content += "\n\nNot measured yet: " + ", ".join(Path(key.split(" | ")[0]).stem for key in missing) + "."
    print(content)
    if args.page:
        sets = " ".join(processor().instruction_sets or ["unknown"])
        parts = [SHARED, *(INTRO[precision] for precision in args.precisions)]
        intro = f"{' '.join(parts)}\n\n{machine('torch', 'onnx', 'onnxruntime')}; instruction sets: {sets}"
        command = f"benchmarks/precision_gates.py --precisions {' '.join(args.precisions)}"
        write_page(args.page, f"{' and '.join(args.precisions)} against PyTorch", intro, command, content)
    return 0 if not missing and all_passed(cells, state) else 3


def table(state: dict[str, Any]) -> str:
    """One line for each cell that is done."""
    lines = [
        "| model | precision | metric | PyTorch | deployment | rounded | gate | layers of the file | as run | MB | |",
        "|---" * 11 + "|",
    ]
    for key, cell in state.items():
        config, precision = key.split(" | ")
        name = Path(config).stem
        if "figures" not in cell:
            lines.append(f"| {name} | {precision} |{' |' * 8} {cell['reason']} |")
            continue
        found = cell["figures"]
        differences = [f"{figure['value'] - figure['reference']:+.3f}" for figure in found] + [""]
        counts = [_counts(cell[side]) for side in ("stored", "computed")]
        if cell["backend"] == IN_PLACE:
            counts[1] = "none in int8, see above"
        lines.append(
            f"| {name} | {precision} | {found[0]['name'].rpartition('/')[2]} | {found[0]['reference']:.2f} | "
            f"{differences[0]} | {differences[1]} | {found[0]['gate']:g} | {counts[0]} | {counts[1]} | "
            f"{cell['megabytes']:.2f} | {cell['verdict']} |"
        )
    return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[dtype]} {dtype}" for dtype in DTYPES if counts.get(dtype))


def _cell(config: str, precision: str) -> dict[str, Any]:
    """One deploy; a missed gate is a result, too."""
    target = deploy_target(load_config(config), precision=precision)
    try:
        return _deployed(config, target)
    except NothingComputedError:
        return _deployed(config, deploy_target(load_config(config), precision=precision, backend=IN_PLACE))


def _deployed(config: str, target: Target) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        deployed = make_deployment(plan_job(config, target, (), folder), allow_parity_failure=True)
        record, nodes = deployed.record.to_dict(), deployed.deployment.manifest.precision["nodes"]
        size = (deployed.place / "model.onnx").stat().st_size / MEGABYTE
    if isinstance(record["metric"], str):
        return {"verdict": "failed", "reason": record["metric"]}
    return {
        "verdict": "passed" if all(figure["passed"] for figure in record["metric"]) else "missed",
        "reason": "; ".join(record["failures"]),
        "backend": target.backend,
        "figures": record["metric"],
        "stored": nodes["stored"],
        "computed": nodes["computed"],
        "megabytes": size,
    }


if __name__ == "__main__":
    sys.exit(main())
