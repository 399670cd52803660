"""mmdetection's models by both exporters, against the library itself: one small model of each architecture.

Each has random weights whose scores differ, and the sections of mmdetection's own configs with fewer channels. A graph
with a dynamic batch runs in ONNX Runtime with 1 and with 3 images, which the export did not see, and is compared with
the library by the gates of a deployment. An interrupted run continues where it was, with --state.

    python benchmarks/openmmlab_exports.py --page docs/measured/openmmlab_exports.md

Exit code 3 if an export fails, or a graph finds something else.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import onnx
from measured import keep, machine, sources, state_of, write_page

from tests.rewriters.mmdetection.exported import AXES, Exported
from tests.small_mmdet import SECTIONS, SIDES, WITH_MASKS, WITH_WHOLE_MASKS, byte_images, small
from zoo.errors import ZooportError
from zoo.target import Target

EXPORTERS = ("torchscript", "dynamo")
BATCHES = ((1, 3), (3, 0))  # images, and the number of the first
NAMES = (*SECTIONS, *WITH_MASKS, *WITH_WHOLE_MASKS)
PACKAGES = ("torch", "onnxruntime", "onnx", "mmdet", "mmengine")
MADE_OF = ("rewriters", "zoo", "tests/small_mmdet", "tests/rewriters/mmdetection/exported.py")
COLUMNS = ("boxes", "scores", "masks", "mask pixels beyond rounding")
INTRO = (
    f"Small models, one of an architecture, with random weights, at {SIDES[0]} x {SIDES[1]} pixels: exported with a "
    "dynamic batch, run in ONNX Runtime with 1 and 3 images, and compared with mmdetection's own `predict` as sets "
    "(models with masks: with zooport's model, whose masks a test compares with mmdetection's). *Found*: detections "
    "within all gates, at batch 1 and 3. *Borderline*: those that a rounding error may decide. The largest errors: of "
    "boxes in pixels, of scores, and of masks."
)


def main() -> int:
    """Measure, print and write the table; 3 where a graph is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=NAMES, choices=NAMES, metavar="NAME")
    parser.add_argument("--exporters", nargs="+", default=EXPORTERS, choices=EXPORTERS, metavar="NAME")
    parser.add_argument("--state", type=Path, default=Path("work_dirs/openmmlab_exports.json"), metavar="F")
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    state = state_of(args.state, sources(*MADE_OF), *PACKAGES)
    rows = []
    for exporter in args.exporters:
        for name in args.models:
            key = f"{name} {exporter}"
            if key not in state:
                state[key] = cell(name, exporter)
                keep(state, args.state)
            rows.append((name, exporter, state[key]))
            print(line(*rows[-1]), flush=True)
    if args.page:
        rows.sort(key=lambda row: (NAMES.index(row[0]), EXPORTERS.index(row[1])))
        write_page(args.page, "mmdetection's models", INTRO, "benchmarks/openmmlab_exports.py", table(rows))
    return 3 if any(row["failures"] for _, _, row in rows) else 0


def cell(name: str, exporter: str) -> dict[str, Any]:
    """What came of one export."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            exported = Exported.of(name, small(name), Target(AXES, exporter=exporter), path)
        except ZooportError as error:
            return {"failures": [" ".join(str(error).split())]}
        nodes = len(onnx.load(path, load_external_data=False).graph.node)
        findings = [exported.compared(byte_images(*batch)) for batch in BATCHES]
    errors: dict[str, float | None] = {}
    for figure in sum(findings[1:], findings[0]).figures:
        errors[figure.name] = figure.max_error
    return {
        "nodes": nodes,
        "found": [one.matched for one in findings],
        "borderline": sum(len(one.borderline) for one in findings),
        "errors": errors,
        "failures": [failure for one in findings for failure in one.failures],
    }


def line(name: str, exporter: str, row: dict[str, Any]) -> str:
    """A row of the table."""
    if "nodes" not in row:
        return f"| {name} | {exporter} | | | | | | | refused: {row['failures'][0]} |"
    boxes, scores, *masks = (row["errors"].get(column) for column in COLUMNS)
    mask = next((error for error in masks if error is not None), None)
    errors = " | ".join("" if error is None else f"{error:.1e}" for error in (boxes, scores, mask))
    found = " / ".join(map(str, row["found"]))
    verdict = f"differs: {row['failures'][0]}" if row["failures"] else "equal"
    return f"| {name} | {exporter} | {row['nodes']} | {errors} | {found} | {row['borderline']} | {verdict} |"


def table(rows: list[tuple[str, str, dict[str, Any]]]) -> str:
    """With the machine above it."""
    head = "| model | exporter | nodes | boxes | scores | masks | found | borderline | verdict |"
    lines = [machine(*PACKAGES), "", head, "|---|---|---:|---:|---:|---:|---|---:|---|"]
    return "\n".join([*lines, *(line(*row) for row in rows)])


if __name__ == "__main__":
    sys.exit(main())
