"""The pass matrix of torchvision's whole detectors: both exporters, static, dynamic batch, dynamic height and width.

The complete architectures (ResNet-50 where that is the one) with calibrated random weights, on shipped validation
images, ONNX Runtime against the unpatched model, judged by the gates of every deployment. "static" exports batches
1, 2 and 5 each; "dynamic batch" and "dynamic size" run one file at all of them. Each cell is a process of its own.

    python benchmarks/torchvision_matrix.py --page docs/measured/torchvision_matrix.md

The script may be interrupted: cells are kept in --state and done once.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from matrix import EXPORTERS, all_passed, exported_and_compared, run_cells, table
from measured import machine, state_of, write_page
from torchvision_models import ARCHITECTURES, calibrated, made_of, sample_images, task_of

SIZE, LARGE, ODD, SMALL = (256, 320), (608, 800), (251, 315), (192, 256)
BATCHES = (1, 2, 5)
FORMS = ("static", "dynamic batch", "dynamic size", "800 px")
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
    run_cells(__file__, cells, state, args.state)
    content = table(state, list(ARCHITECTURES), FORMS, "architecture")
    print(content)
    if args.page:
        intro = (
            "Complete architectures with calibrated random weights on four shipped validation images, ONNX Runtime "
            "against the unpatched model, at the gates of every deployment (docs/deployments.md). Static: one export "
            f"for each of the batches 1, 2 and 5, at {SIZE[0]}x{SIZE[1]}. Dynamic batch: one file at 1, 2, 5. Dynamic "
            f"size: one file at {SIZE[0]}x{SIZE[1]}, {SMALL[0]}x{SMALL[1]} and {ODD[0]}x{ODD[1]}, with these batches. "
            f"800 px: {LARGE[0]}x{LARGE[1]}, batch 1. A cell gives the number of detections compared and how many of "
            "them were borderline.\n\n" + machine("torch", "torchvision", "onnxruntime")
        )
        write_page(args.page, "torchvision's detectors", intro, "benchmarks/torchvision_matrix.py", content)
    return 0 if all_passed(cells, state) else 3


def _cell(architecture: str, exporter: str, form: str) -> dict[str, Any]:
    large = form == "800 px"
    model, task = calibrated(architecture, LARGE if large else SIZE), task_of(architecture)
    if large:
        cases = [sample_images(1, LARGE)]
    elif form == "dynamic size":
        cases = [sample_images(batch, size) for batch, size in zip(BATCHES, (SIZE, SMALL, ODD), strict=True)]
    else:
        cases = [sample_images(batch, SIZE) for batch in BATCHES]
    compared = borderline = 0
    for group in [cases] if form.startswith("dynamic") else [[case] for case in cases]:
        found, near = exported_and_compared(model, task, exporter, group)
        compared, borderline = compared + found, borderline + near
    if borderline > AT_MOST * compared:
        raise AssertionError(f"{borderline} of {compared} detections are borderline")
    return {"verdict": "passed", "compared": compared, "borderline": borderline}


if __name__ == "__main__":
    sys.exit(main())
