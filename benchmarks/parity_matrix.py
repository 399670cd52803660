"""The pass matrix: each shipped config, both exporters, static and dynamic batch, two image sizes; parity in each.

Each cell is a whole deploy into a temporary folder on eight validation images: export, ONNX Runtime, both comparisons
with the unpatched model. A dynamic batch is compared at 1, 2 and 5 in one cell.

    python benchmarks/parity_matrix.py --page docs/measured/parity_matrix.md

The script may be interrupted: cells are kept in --state and done once.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from measured import STAMP, keep, machine, of_one_size, shipped_configs, sources, state_of, write_page

from pipeline.deploying import make_deployment
from pipeline.job.job import plan_job
from zoo import Target
from zoo.config import config_target, load_config
from zoo.errors import ZooportError
from zoo.target import AxisRange

VAL = ROOT / "zoo/data/digits/val/images"
SOURCES = ("zoo", "rewriters", "backends", "pipeline", "configs")
IMAGES = 8
SECOND_SIZE = {(64, 64): (96, 80), (256, 320): (320, 416), (320, 320): (352, 416), (384, 480): (352, 427)}
"""Of each shipped size; the last one is odd, and no stride divides it."""
BATCHES = {
    "1": AxisRange.fixed(1),
    "2": AxisRange.fixed(2),
    "5": AxisRange.fixed(5),
    "dynamic (1, 2, 5)": AxisRange(1, 2, 5),
}


def main() -> int:
    """Print and write the matrix; 3 where a cell is not green."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=ROOT / "work_dirs/parity_matrix.json")
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    state = state_of(args.state, sources(*SOURCES), "torch", "torchvision", "onnxruntime")
    for path in shipped_configs(takes=of_one_size):
        for target, cell in _targets(path):
            key = " | ".join(cell)
            if key not in state:
                state[key] = _cell(path, target)
                keep(state, args.state)
                print(f"{key}: {state[key]['verdict']}", flush=True)
    head = "| model | exporter | size | batch | verdict | cases | worst error, part of its gate | nodes |"
    cells = {key: value for key, value in state.items() if key != STAMP}
    rows = [f"| {key} | {_words(value)} |" for key, value in cells.items()]
    table = "\n".join([head, "|---|---|---|---|---|---|---|---|", *rows])
    print(table)
    if args.page:
        intro = (
            f"Every cell is a deploy at the design's gates on {IMAGES} validation images, ONNX Runtime against the "
            "unpatched PyTorch model: identical tensors (graph), and images through the whole deployment (pipeline). "
            '"Cases" counts both; the error is the worst of all figures that have a gate, as a part of that gate.\n\n'
            + machine("torch", "torchvision", "onnxruntime")
        )
        write_page(args.page, "Pass matrix", intro, "benchmarks/parity_matrix.py", table)
    return 0 if all(value["verdict"] == "passed" for value in cells.values()) else 3


def _targets(path: str) -> list[tuple[Target, tuple[str, str, str, str]]]:
    own = config_target(load_config(path))
    size = (own.preferred["height"], own.preferred["width"])
    return [
        (
            own.with_(exporter=exporter, batch=batch, height=AxisRange.fixed(height), width=AxisRange.fixed(width)),
            (Path(path).stem, exporter, f"{height}x{width}", name),
        )
        for exporter in ("dynamo", "torchscript")
        for height, width in (size, SECOND_SIZE[size])
        for name, batch in BATCHES.items()
    ]


def _cell(path: str, target: Target) -> dict[str, Any]:
    images = sorted(VAL.glob("*.jpg"))[:IMAGES]
    with tempfile.TemporaryDirectory() as folder:
        try:
            deployed = make_deployment(plan_job(path, target, images, folder))
        except ZooportError as error:
            return {"verdict": "failed", "reason": str(error)}
        figures = [figure for case in deployed.record.cases for figure in case.findings.figures if figure.gate]
        return {
            "verdict": deployed.record.verdict,
            "cases": len(deployed.record.cases),
            "worst": max((figure.max_error or 0.0) / (figure.gate or 1.0) for figure in figures),
            "nodes": deployed.export.nodes,
        }


def _words(value: dict[str, Any]) -> str:
    if value["verdict"] != "passed":
        return f"failed: {value['reason']} | | | "
    return f"passed | {value['cases']} | {value['worst']:.2f} | {value['nodes']}"


if __name__ == "__main__":
    sys.exit(main())
