"""int8 against fp32 in ONNX Runtime's CPU provider: how much faster, and what it costs.

    python benchmarks/int8_speed.py [--rounds N] [--metric] [CONFIG ...]

Each graph's fp32 and int8 file run in turns on one image; the ratio is the median of the rounds' ratios. `--metric`
evaluates both on the val split, too. Writes docs/measured/int8_speed.md. The fp32 deployments must be there
(zooport deploy CONFIG); the precision options are the config's, and where it has none, those of KEPT.
"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import onnx
import onnxruntime as ort
from measured import interleaved, machine, ratio, write_page
from sessions import open_session, session_run

from pipeline.evaluating import evaluate
from pipeline.job.job import plan_job
from pipeline.precision import feeds
from rewriters.precision import to_int8
from zoo.config import load_config
from zoo.manifest import Manifest, file_record
from zoo.precision_options import PrecisionOptions

CONFIGS = (
    "segmentation/fcn_r18_digits",
    "segmentation/upernet_r18_digits",
    "detection/faster-rcnn_r18-fpn_digits",
    "detection/retinanet_r18-fpn_digits",
    "detection/yolov5n_digits",
)
KEPT: dict[str, tuple[str, ...]] = {
    "faster-rcnn_r18-fpn_digits": ("backbone.fpn", "rpn"),
    "retinanet_r18-fpn_digits": ("backbone.fpn", "head"),
}
"""Modules in fp32, beside the same graph with all of them in int8."""
PAGE = ROOT / "docs" / "measured" / "int8_speed.md"
INTRO = """Batch 1, {rounds} rounds in turns, one image of the training split; calibrated on 16 others, minmax. Below
1 int8 is faster. Layers: how many of those that the file has in int8 ONNX Runtime computes in int8 (as QLinearConv and
the like, in its optimised graph). Metric: on the val split, 64 images, int8 less the unpatched model, in points.

ONNX Runtime's x86 kernels are for uint8 activations. It makes uint8 of an int8 tensor only where one node reads it, and
fuses a Relu into a convolution only for a zero point at the end of the range: so tensors that are never negative are
stored as uint8 with the zero point 0 (TensorRT reads them as int8). A tensor with negative numbers and several readers
is not fused: YOLOv5's SiLU reads each twice, and its convolutions stay in fp32 there, with the pairs as a burden.

{machine}"""


def main() -> None:
    """Measure and write the page."""
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("configs", nargs="*", default=CONFIGS, metavar="CONFIG")
    flags.add_argument("--rounds", type=int, default=7)
    flags.add_argument("--metric", action="store_true")
    options = flags.parse_args()
    rows = []
    for name in options.configs:
        for kept in dict.fromkeys([(), KEPT.get(Path(name).name, ())]):
            rows.append(row(name, kept, options.rounds, metric=options.metric))
            print(rows[-1], flush=True)
    names = ("model", "kept in fp32", "layers in int8", "ratio, 1 thread", "ratio, 2 threads", "metric")
    head = f"| {' | '.join(names)} |\n|---|---|---|---:|---:|---:|"
    words = INTRO.format(rounds=options.rounds, machine=machine("onnxruntime"))
    write_page(PAGE, "int8 in ONNX Runtime", words, "benchmarks/int8_speed.py", "\n".join([head, *rows]))


def row(name: str, kept: tuple[str, ...], rounds: int, *, metric: bool) -> str:
    """A line of the table."""
    config = load_config(ROOT / "configs" / f"{name}.py")
    job = plan_job(config, None, [], ROOT / "work_dirs")
    sample_images = feeds(job, 17)
    model = onnx.load(job.place / "model.onnx")
    made, report = to_int8(model, replace(PrecisionOptions(), keep_fp32=kept), sample_images[:16])
    content = made.SerializeToString()
    ratios = []
    for threads in (1, 2):
        runs = {
            "fp32": session_run(open_session(model.SerializeToString(), threads), sample_images[16]),
            "int8": session_run(open_session(content, threads), sample_images[16]),
        }
        ratios.append(ratio(interleaved(runs, rounds), "int8", "fp32"))
    layers = f"{fused(content)} of {report.nodes['int8']}"
    difference = f"{metric_change(job.place, content, str(config.path)):+.2f}" if metric else "not measured"
    words = ", ".join(f"`{module}`" for module in kept) or "nothing"
    return f"| {Path(name).name} | {words} | {layers} | {ratios[0]:.2f} | {ratios[1]:.2f} | {difference} |"


def fused(content: bytes) -> int:
    """How many layers ONNX Runtime computes in int8."""
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        kinds = Counter(node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node)
    return sum(kinds[kind] for kind in ("QLinearConv", "QGemm", "QLinearMatMul"))


def metric_change(place: Path, content: bytes, config: str) -> float:
    """The metric of a deployment with this graph less that of the fp32 one, in points, on the config's data set."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "onnxruntime-int8"
        shutil.copytree(place, copy)
        (copy / "model.onnx").write_bytes(content)
        replace(Manifest.read(copy), files={"model.onnx": file_record(copy / "model.onnx")}).write(copy)
        found = evaluate(config, [], [str(copy)], work_dir=folder)
    return float(next(row.difference for row in found.rows if row.difference is not None))


if __name__ == "__main__":
    main()
