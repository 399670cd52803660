"""The table of other people's models: exported by both exporters, right at which batch and size, how quick, in what.

The cases are the modules in own_model_cases: models with seeded random weights, their batch norms with real statistics.
Each is compared with the unpatched model by the gates of every deployment, at batches 1 and 3 and at a second size,
in ONNX Runtime and OpenVINO; tensorrt_rtx builds an engine on the CPU. Latency is beside eager PyTorch and beside
torch's own export without zooport. Each cell is a process of its own.

    python benchmarks/own_models.py --page docs/measured/own_models.md

The script may be interrupted: cells are kept in --state, a file for each kind, and done once. Exit code 3 where a cell
failed; one that is refused gives its reason.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from matrix import EXPORTERS, run_cells
from measured import machine, sources, state_of, write_page
from own_model_case import BATCHES, FOLDER, Kind, kinds

CODE = (
    *("zoo", "rewriters", "backends", "pipeline/parity", "pipeline/preflight", "benchmarks/matrix.py"),
    *("benchmarks/own_model_case.py", "benchmarks/own_model_cell.py"),
)
PACKAGES = ("torch", "torchvision", "transformers", "timm", "segmentation_models_pytorch", "onnxruntime", "openvino")
MEGABYTE = 1e6
HEADS = (
    *("model", "exporter", "verdict", "largest error", "nodes", "of eager", "of torch's export", "batch"),
    *("second size", "torch's export alone", "OpenVINO", "tensorrt_rtx"),
)
INTRO = (
    "Models that are not the zoo's, with seeded random weights, on shipped images: ONNX Runtime against the unpatched "
    f"model, at the gates of every deployment (docs/deployments.md), batches {' and '.join(map(str, BATCHES))} and a "
    "second size from one file. Largest error: of the output that is named. Nodes: of our graph, and of torch's own "
    "export without zooport, with the same dynamic axes. Latency: our graph's time in ONNX Runtime over that of eager "
    "PyTorch and of torch's own export, the median of interleaved rounds at batch 1. OpenVINO: the same comparison "
    "there. tensorrt_rtx: an engine was built on the CPU; its numbers were not computed."
)


def main() -> int:
    """Print and write the table; 3 where a cell failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", default=[], metavar="KIND", help=f"modules of {FOLDER}; default: all")
    parser.add_argument("--only", nargs="+", default=[], metavar="MODEL", help="models of these names; default: all")
    parser.add_argument("--exporters", nargs="+", default=EXPORTERS, choices=EXPORTERS)
    parser.add_argument("--state", type=Path, default=ROOT / "work_dirs/own_models", help="a folder")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=3, metavar=("KIND", "MODEL", "EXPORTER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        warnings.simplefilter("ignore")
        print(json.dumps(_cell(*args.cell)))
        return 0
    content, cells = [], []
    for kind in kinds():
        path = args.state / f"{kind.name}.json"
        state = state_of(path, sources(*CODE, f"benchmarks/{FOLDER}/{kind.name}.py"), *PACKAGES)
        if not args.kinds or kind.name in args.kinds:
            names = [name for name in kind.cases if not args.only or name in args.only]
            run_cells(__file__, [(kind.name, name, one) for name in names for one in args.exporters], state, path)
        content.append(table(kind, state))
        cells += [cell for cell in state.values() if isinstance(cell, dict)]
    print("\n\n".join(content))
    if args.page:
        intro = f"{INTRO}\n\n{machine(*PACKAGES)}"
        write_page(args.page, "Other people's models", intro, "benchmarks/own_models.py", "\n\n".join(content))
    return 3 if any(_is_wrong(cell) for cell in cells) else 0


def _cell(kind: str, name: str, exporter: str) -> dict[str, Any]:
    from own_model_cell import measured_cell

    builders = next(one.cases for one in kinds() if one.name == kind)
    return measured_cell(builders[name](), exporter)


def _is_wrong(cell: Mapping[str, Any]) -> bool:
    """Not what was refused: that is no number."""
    return cell["verdict"] == "failed" or str(cell.get("openvino")).startswith("wrong")


def table(kind: Kind, state: Mapping[str, Any]) -> str:
    """A section: a line for each model and exporter, then what was refused or failed, with the reason."""
    lines = [f"## {kind.title}", "", f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    reasons: list[str] = []
    for name in kind.cases:
        for exporter in EXPORTERS:
            cell = state.get(f"{kind.name} | {name} | {exporter}")
            words, notes = (["not run"] + [""] * (len(HEADS) - 3), []) if cell is None else _words(cell)
            lines.append(f"| {' | '.join([name, exporter, *words])} |")
            reasons += [f"- {name}, {exporter}: {note}" for note in notes]
    return "\n".join([*lines, *([""] if reasons else []), *reasons])


def _words(cell: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The cell's columns behind the exporter, and the notes below the table."""
    notes: list[str] = []

    def short(what: str, words: str) -> str:
        """A refusal's or fault's reason goes below the table."""
        verdict, colon, _ = words.partition(": ")
        notes.extend([f"{what} {words}"] if colon else [])
        return verdict

    second = short("second size", cell.get("second_size", ""))
    if cell["verdict"] != "passed":
        notes.append(f"{cell['verdict']}: {cell['reason']}")
        return [cell["verdict"], *[""] * 5, second, *[""] * 3], notes
    plain, engine = cell["plain"], cell["engine"]
    name, value, unit = max(cell["errors"], key=lambda error: error[1] or 0.0)
    if plain["verdict"] == "refused":
        notes.append(f"torch's export alone refused: {plain['reason']}")
    if engine["verdict"] == "refused":
        notes.append(f"tensorrt_rtx refused: {engine['reason']}")
    built = engine["verdict"] == "passed"
    return [
        "passed" if not cell["borderline"] else f"passed ({cell['borderline']} borderline)",
        f"{value:.1e} {unit} ({name})".replace("  ", " "),
        f"{cell['nodes']} / {plain.get('nodes', '-')}",
        f"{cell['of_eager']:.2f}",
        "-" if cell["of_plain"] is None else f"{cell['of_plain']:.2f}",
        ", ".join(map(str, BATCHES)),
        second,
        plain["verdict"],
        short("OpenVINO", cell["openvino"]),
        f"{engine['bytes'] / MEGABYTE:.1f} MB" if built else "refused",
    ], notes


if __name__ == "__main__":
    sys.exit(main())
