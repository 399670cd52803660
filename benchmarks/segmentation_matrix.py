"""The pass matrix of the segmentors: every segmentation config, both exporters, static and dynamic, logits and labels.

Shipped weights where the repository has them, else calibrated random ones (torchvision's architectures, whole), on
shipped validation images, ONNX Runtime against the unpatched model, judged by the gates of every deployment. "static"
exports the batches 1 and 3 each; "dynamic" runs one file at three sizes and both batches. Each cell is a process.

    python benchmarks/segmentation_matrix.py --page docs/measured/segmentation_matrix.md

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

import torch
from matrix import EXPORTERS, all_passed, exported_and_compared, run_cells, table
from measured import machine, sources, state_of, write_page
from torch import Tensor, nn
from torchvision.models.resnet import Bottleneck
from torchvision_models import sample_images

from zoo.build import build_model
from zoo.config import load_config
from zoo.tasks.semantic_segmentation.proof.model_logits import model_logits

CONFIGS = sorted(path.stem for path in (ROOT / "configs/segmentation").glob("*.py"))
SIZE, LARGE, ODD = (256, 320), (288, 352), (251, 315)
BATCHES = (1, 3)
FORMS = ("static", "dynamic")
LEVELS = ("decoded", "final")
SOURCES = ("configs", "zoo", "rewriters", "pipeline", "benchmarks/matrix.py")
RESIDUAL = 0.25  # weight of the last batch norm of a residual branch, see zoo.random_weights
PASSES = 5


def main() -> int:
    """Print and write the matrix; 3 where a cell is not green."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", help="default: all")
    parser.add_argument("--state", type=Path, default=ROOT / "work_dirs/segmentation_matrix.json")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=3, metavar=("CONFIG", "EXPORTER", "FORM"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        warnings.simplefilter("ignore")
        print(json.dumps(_cell(*args.cell)))
        return 0
    state = state_of(args.state, sources(*SOURCES), "torch", "torchvision", "onnxruntime")
    cells = [(config, exporter, form) for config in args.configs or CONFIGS for form in FORMS for exporter in EXPORTERS]
    run_cells(__file__, cells, state, args.state)
    content = table(state, CONFIGS, FORMS, "config")
    print(content)
    if args.page:
        intro = (
            "Every segmentation config on shipped validation images, ONNX Runtime against the unpatched model, at "
            "the gates of every deployment (docs/deployments.md): the digits' with their shipped weights, "
            "torchvision's whole architectures with calibrated random ones. Each cell exports level decoded (the "
            "logits) and level final (the label map). Static: one export for each of the batches 1 and 3, at "
            f"{SIZE[0]}x{SIZE[1]}. Dynamic: one file at {SIZE[0]}x{SIZE[1]}, {LARGE[0]}x{LARGE[1]} and "
            f"{ODD[0]}x{ODD[1]} with batch 1, and at the first with batch 3. A cell gives the number of logits and "
            "pixels compared and how many pixels were borderline.\n\n" + machine("torch", "torchvision", "onnxruntime")
        )
        write_page(args.page, "The segmentors", intro, "benchmarks/segmentation_matrix.py", content)
    return 0 if all_passed(cells, state) else 3


def _cell(name: str, exporter: str, form: str) -> dict[str, Any]:
    config = load_config(ROOT / f"configs/segmentation/{name}.py")
    torch.manual_seed(0)
    shipped = name.endswith("_digits")
    model = build_model(config, weights=shipped)
    if not shipped:
        _calibrate(model, sample_images(4, SIZE))
    task, forward = config.task, dict(config.export.forward)
    batches = [sample_images(batch, SIZE) for batch in BATCHES]
    groups = [[case] for case in batches]
    if form == "dynamic":
        groups = [[*batches, sample_images(1, LARGE), sample_images(1, ODD)]]
    compared = borderline = 0
    for level in LEVELS:
        for group in groups:
            found, near = exported_and_compared(model, task, exporter, group, level, **forward)
            compared, borderline = compared + found, borderline + near
    return {"verdict": "passed", "compared": compared, "borderline": borderline}


def _calibrate(model: Any, images: Tensor) -> None:
    """Changes random weights in place: batch norms know these images, and no class always has the largest logit."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # the plain average
    for module in model.modules():
        if isinstance(module, Bottleneck):
            nn.init.constant_(module.bn3.weight, RESIDUAL)
    with torch.no_grad():
        model.train()
        for _ in range(PASSES):
            model(images)
        means = model_logits(model.eval()(images)).mean(dim=(0, 2, 3))
        for module in reversed(list(model.classifier.modules())):
            if isinstance(module, nn.Conv2d) and module.bias is not None and len(module.bias) == len(means):
                module.bias -= means
                return
    raise AssertionError(f"{type(model).__name__}: no last convolution")


if __name__ == "__main__":
    sys.exit(main())
