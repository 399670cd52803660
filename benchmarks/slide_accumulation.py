"""Which form of slide inference is the fastest in ONNX Runtime? Decides the default of the rewriter.

Exports one segmentor in every form (accumulation x windows as one batch or one after another), and as torch exports it
by itself, and runs all of them interleaved in one process. The ratio is the median latency against the first row.

    python benchmarks/slide_accumulation.py --rounds 20 --page docs/measured/slide_accumulation.md
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from measured import interleaved, machine, ratio, write_page
from sessions import open_session, plain_export, session_run

from rewriters import export_onnx
from zoo import Target
from zoo.families import contract_module
from zoo.models.segmentation import EncoderDecoder
from zoo.target import AxisRange
from zoo.tasks import build_task
from zoo.tensor_spec import TensorSpec

NUM_CLASSES = 11
REWRITER = "zoo.EncoderDecoder.slide_inference"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, nargs=2, default=(512, 512), metavar=("H", "W"))
    parser.add_argument("--crop", type=int, default=256)
    parser.add_argument("--stride", type=int, default=171)
    parser.add_argument("--base-channels", type=int, default=16, help="width of the ResNet-18")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--exporter", default="torchscript", choices=("torchscript", "dynamo"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="write the table into this Markdown page")
    args = parser.parse_args()

    torch.manual_seed(0)
    model = _model(args.base_channels, args.crop, args.stride)
    image = torch.rand(1, 3, *args.size, generator=torch.Generator().manual_seed(0))
    forms: dict[str, tuple[bytes, float]] = {}
    for window_batch in (8, 1):
        for accumulate in ("segments", "pad"):
            name = f"{accumulate}, {'one by one' if window_batch == 1 else f'{window_batch} windows at once'}"
            forms[name] = _timed(partial(_ours, model, args, image, accumulate, window_batch))
    forms["plain torchscript export"] = _timed(lambda: plain_export(model, image))

    sessions = {name: open_session(content) for name, (content, _) in forms.items()}
    feed = {"images": image.numpy()}
    expected = model(image).detach().numpy()
    for name, session in sessions.items():
        np.testing.assert_allclose(session.run(None, feed)[0], expected, atol=1e-4, err_msg=name)
    seconds = interleaved({name: session_run(session, feed) for name, session in sessions.items()}, args.rounds)
    fastest = next(iter(sessions))
    rows = {
        name: {
            "ratio": round(ratio(seconds, name, fastest), 3),
            "export_seconds": round(export_seconds, 2),
            "bytes": len(content),
        }
        for name, (content, export_seconds) in forms.items()
    }
    lines = [
        f"| {name} | {row['ratio']:.2f} | {row['export_seconds']:.1f} | {row['bytes'] / 1e6:.2f} |"
        for name, row in rows.items()
    ]
    table = "\n".join(["| form | latency ratio | export s | file MB |", "|---|---|---|---|", *lines])
    intro = (
        f"{args.size[0]}x{args.size[1]}, crop {args.crop}, stride {args.stride}, ResNet-18 of width "
        f"{args.base_channels}, exporter {args.exporter}. Latency in ONNX Runtime against the default of the "
        f"rewriter.\n\n{machine('torch', 'onnxruntime')}; median of {args.rounds} interleaved rounds."
    )
    print(f"{intro}\n\n{table}")
    if args.page:
        write_page(args.page, "Forms of slide inference", intro, "benchmarks/slide_accumulation.py", table)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def _model(base_channels: int, crop: int, stride: int) -> EncoderDecoder:
    return EncoderDecoder(
        backbone={
            "type": "ResNet18",
            "base_channels": base_channels,
            "strides": (1, 2, 1, 1),
            "dilations": (1, 1, 2, 4),
        },
        decode_head={
            "type": "FCNHead",
            "in_channels": [base_channels, base_channels * 8],
            "in_index": [0, 3],
            "channels": 64,
            "num_classes": NUM_CLASSES,
        },
        test_cfg={"mode": "slide", "crop_size": (crop, crop), "stride": (stride, stride)},
    ).eval()


def _ours(
    model: EncoderDecoder, args: argparse.Namespace, image: torch.Tensor, accumulate: str, window_batch: int
) -> bytes:
    height, width = args.size
    target = Target(
        {"batch": AxisRange.fixed(1), "height": AxisRange.fixed(height), "width": AxisRange.fixed(width)},
        exporter=args.exporter,
        window_batch=window_batch,
    )
    task = build_task(
        {"type": "SemanticSegmentation", "classes": [{"name": str(i), "category_id": i} for i in range(NUM_CLASSES)]}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        export_onnx(
            contract_module(model, task, "decoded", {}),
            target,
            path,
            example={"images": image},
            output_specs=[TensorSpec("logits", "float32", (1, NUM_CLASSES, height, width))],
            required_rewriters=[{"name": REWRITER, "accumulate": accumulate}],
        )
        return path.read_bytes()


def _timed(make: Callable[[], bytes]) -> tuple[bytes, float]:
    start = time.perf_counter()
    content = make()
    return content, time.perf_counter() - start


if __name__ == "__main__":
    main()
