"""Where ONNX Runtime's time goes: our graph and torch's plain export of the same detector, operator by operator.

Convolutions, matrix products and RoIAlign are the same in both graphs, so what they take of the plain export's time
bounds what rewriting around them can reach. From ONNX Runtime's own profile of both, run in turns.

    python benchmarks/operator_times.py --page docs/measured/operator_times.md
"""

import argparse
import itertools
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import torch
from kernel_times import RUNS, WARM_UP, onnxruntime_times
from measured import machine, write_page
from sessions import PlainDetector, plain_export
from torchvision_models import ARCHITECTURES, calibrated, sample_images
from torchvision_zoo import SIZES, export_ours

DEFAULT = (
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
    "ssd300_vgg16",
    "ssdlite320_mobilenet_v3_large",
)
SHARED = ("Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "FusedMatMul", "ConvTranspose", "RoiAlign", "MaxPool")
THREADS = 2
ROWS = 8


def main() -> None:
    """Print a table for each architecture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", default=DEFAULT, help=f"of {', '.join(ARCHITECTURES)}")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(THREADS)
    tables = []
    for architecture, size in itertools.product(args.architectures, args.sizes):
        height, width = SIZES[size]
        table = _table(*_times(architecture, (height, width)))
        tables.append(f"## {architecture}, {height}x{width}\n\n{table}")
        print(tables[-1] + "\n", flush=True)
    if args.page:
        intro = (
            f"Milliseconds of each kind of node, ONNX Runtime's profile: batch 1, {THREADS} threads, calibrated random "
            f"weights; the median of {RUNS} runs of each node, in turns, after {WARM_UP}.\n\n"
            + machine("torch", "torchvision", "onnxruntime")
        )
        write_page(args.page, "Where the time goes", intro, "benchmarks/operator_times.py", "\n\n".join(tables))


def _times(architecture: str, size: tuple[int, int]) -> tuple[Counter[str], Counter[str]]:
    """Milliseconds of a run by operator: of the plain export, and of ours."""
    model = calibrated(architecture, size)
    images = sample_images(1, size)
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.onnx" for name in ("plain", "ours")}
        paths["plain"].write_bytes(plain_export(PlainDetector(model).eval(), images))
        export_ours(model, architecture, "dynamo", size, paths["ours"])
        times = onnxruntime_times(paths, {"images": images.numpy()}, THREADS)
    return Counter(times["plain"]), Counter(times["ours"])


def _table(plain: Counter[str], ours: Counter[str]) -> str:
    lines = ["| nodes | plain ms | ours ms |", "|---|---|---|"]
    shown = [name for name, _ in (plain | ours).most_common(ROWS)]
    lines += [f"| {name} | {plain[name]:.1f} | {ours[name]:.1f} |" for name in shown]
    others = (sum(times.values()) - sum(times[name] for name in shown) for times in (plain, ours))
    lines.append("| all others | {:.1f} | {:.1f} |".format(*others))
    lines.append(f"| all | {plain.total():.1f} | {ours.total():.1f} |")
    shared = [sum(times[name] for name in SHARED) / plain.total() for times in (plain, ours)]
    return "\n".join(lines) + (
        f"\n\n{', '.join(name for name in SHARED if plain[name] or ours[name])}: {shared[0]:.2f} of the plain export's "
        f"time in itself, {shared[1]:.2f} in ours; all of ours: {ours.total() / plain.total():.2f}."
    )


if __name__ == "__main__":
    main()
