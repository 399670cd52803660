"""The table of other people's models: exported by both exporters, right at which batch and size, how quick, in what.

The cases are the modules in own_model_cases: models with seeded random weights, their batch norms with real statistics.
Each is compared with the unpatched model by the gates of every deployment, at batches 1 and 3 and at a second size,
in ONNX Runtime and OpenVINO; tensorrt_rtx builds an engine on the CPU. Latency is beside eager PyTorch and beside
torch's own export without zooport. Each cell is a process of its own.

    python benchmarks/own_models.py --kinds query_detectors --page docs/measured/own_models.md
    python benchmarks/own_models.py --stages latency --page docs/measured/own_models.md  # on an idle machine

The script may be interrupted: cells are kept in --state and done once, and again where the code that they are made of
has changed, that of other kinds not counted. --kinds and --only run a part: the page has what is done so far. Exit code
3 where a cell failed; one that is refused gives its reason.
"""

import argparse
import json
import statistics
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from matrix import EXPORTERS, run_cells
from measured import sources, write_page
from own_model_case import FOLDER, Kind, kinds
from own_model_page import INTRO, STAGES, Cells, latency_note, machines, table

from pipeline.base.machine import processor, threads

CODE = (
    *("rewriters/export_onnx.py", "rewriters/exporters.py", "rewriters/family_rewriters.py", "rewriters/checks"),
    *("rewriters/graph_passes", "rewriters/onnx_graph", "rewriters/ops", "rewriters/patching", "rewriters/symbolic"),
    *("rewriters/torch_functions", "pipeline/parity", "zoo/comparison", "zoo/contract", "zoo/families"),
    *("zoo/random_weights.py", "backends/onnxruntime", "backends/openvino", "benchmarks/matrix.py"),
    *("benchmarks/own_model_case.py", "benchmarks/own_model_cell.py", "benchmarks/sessions.py", "pipeline/preflight"),
    "benchmarks/tensorrt_models.py",
)
"""What every cell is made of, whatever its kind."""
PACKAGES = (
    *("torch", "torchvision", "transformers", "timm", "segmentation_models_pytorch"),
    *("onnxruntime", "openvino", "tensorrt_rtx"),
)
GUESS = 60.0  # seconds of a cell, where none was timed yet


def main() -> int:
    """Print and write the table; 3 where a cell failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", default=[], metavar="KIND", help=f"modules of {FOLDER}; default: all")
    parser.add_argument("--only", nargs="+", default=[], metavar="MODEL", help="models of these names; default: all")
    parser.add_argument("--exporters", nargs="+", default=EXPORTERS, choices=EXPORTERS)
    parser.add_argument("--stages", nargs="+", default=STAGES[:1], choices=STAGES, help="default: proof")
    parser.add_argument("--state", type=Path, default=ROOT / "docs/measured/own_models.json")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=4, metavar=("KIND", "MODEL", "EXPORTER", "STAGE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    every = kinds()
    if args.cell:
        warnings.simplefilter("ignore")
        print(json.dumps(_cell(every, *args.cell)))
        return 0
    state: Cells = json.loads(args.state.read_text(encoding="utf-8")) if args.state.is_file() else {}
    chosen = [
        (kind.name, name, exporter, stage)
        for kind in every
        if not args.kinds or kind.name in args.kinds
        for name in kind.cases
        if not args.only or name in args.only
        for exporter in args.exporters
        for stage in args.stages
    ]
    drop_stale(chosen, state, {kind.name: made_of(kind) for kind in every})
    print(estimate(chosen, state), flush=True)
    run_cells(__file__, chosen, state, args.state)
    content = "\n\n".join(table(kind, state) for kind in every)
    print(content)
    if args.page:
        intro = "\n\n".join([INTRO, latency_note(state), f"Proved on {machines(state, 'proof')}"])
        write_page(args.page, "Other people's models", intro, "benchmarks/own_models.py", content)
    return 3 if any(_is_wrong(cell) for cell in state.values()) else 0


def made_of(kind: Kind) -> str:
    """The code of its cells, and the libraries with their versions."""
    return f"{sources(*CODE, *kind.made_of)}; {', '.join(f'{package} {version(package)}' for package in PACKAGES)}"


def drop_stale(cells: Sequence[tuple[str, ...]], state: Cells, current: Mapping[str, str]) -> None:
    """Those of `cells` that failed, or that other code or libraries made. `current`: made_of each kind."""
    for cell in cells:
        key = " | ".join(cell)
        if key in state and state[key].get("made_of") != current[cell[0]]:
            del state[key]


def estimate(cells: Sequence[tuple[str, ...]], state: Cells) -> str:
    """How long the cells that are not in the state take: each as long as those of its kind, else as all that are."""
    seconds = 0.0
    every = [cell["seconds"] for cell in state.values()]
    left = [cell for cell in cells if " | ".join(cell) not in state]
    for kind, *_ in left:
        own = [cell["seconds"] for key, cell in state.items() if key.startswith(f"{kind} | ")] or every or [GUESS]
        seconds += statistics.mean(own)
    return f"{len(left)} cells to run, about {seconds / 60:.0f} minutes" + (
        "" if every else f" at {GUESS:.0f} s for each"
    )


def _cell(every: Sequence[Kind], kind: str, name: str, exporter: str, stage: str) -> dict[str, Any]:
    from own_model_cell import measured_cell

    found = next(one for one in every if one.name == kind)
    stamp = {"made_of": made_of(found), "machine": f"{processor()}, {threads()} threads"}
    return measured_cell(found.cases[name](), exporter, stage) | stamp


def _is_wrong(cell: Mapping[str, Any]) -> bool:
    """Not what was refused: that is no number."""
    return cell["verdict"] == "failed" or str(cell.get("openvino")).startswith("wrong")


if __name__ == "__main__":
    sys.exit(main())
