"""What a layer-by-layer alignment finds where nothing is wrong, and where one convolution is: the default thresholds.

    python benchmarks/alignment.py --page docs/measured/alignment.md
    python benchmarks/alignment.py --precision fp16 --exporters torchscript --page docs/measured/alignment_fp16.md

Each model is exported and aligned in a process of its own, on two images of its data set. In fp32 then the weights
of one convolution of its graph are changed by 1 %, and it is aligned again, on the first image: three convolutions,
the first, the middle and the last of the graph.
"""

import argparse
import copy
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
import onnx
from measured import machine, of_images, shipped_configs, write_page
from onnx import numpy_helper

PRECISIONS = ("fp32", "fp16", "int8")
EXPORTERS = ("dynamo", "torchscript")
PART = 0.01
PLANTED = 3
OF_PLANTED = slice(5, 7)  # columns
MIB = 1024  # of the kilobytes that the kernel counts


def main() -> None:
    """One row for each config and exporter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", type=Path, default=[])
    parser.add_argument("--exporters", nargs="+", default=EXPORTERS)
    parser.add_argument("--planted", type=int, default=PLANTED, help="convolutions to change, one after another")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32", help="nothing is planted below fp32")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        config, exporter, planted, precision = args.cell
        print(json.dumps(_cell(config, exporter, int(planted), precision)))
        return
    rows = []
    for config in args.configs or map(Path, shipped_configs(takes=of_images)):
        for exporter in args.exporters:
            command = [sys.executable, __file__, "--cell", str(config), exporter]
            command += [str(args.planted if args.precision == "fp32" else 0), args.precision]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                rows.append([config.stem, exporter, ended.stderr.strip().splitlines()[-1], *[""] * 5])
            else:
                rows.append([config.stem, exporter, *json.loads(ended.stdout.splitlines()[-1])])
            print(" | ".join(map(str, rows[-1])), flush=True)
    head = ["config", "exporter", "pairs", "largest error", "of", "planted, named", "least error of them", "s", "MiB"]
    if args.precision != "fp32":
        for row in (head, *rows):
            del row[OF_PLANTED]
    table = "\n".join(" | ".join(map(str, row)).join(("| ", " |")) for row in [head, ["---"] * len(head), *rows])
    if args.page:
        planted = (
            f" Then convolutions whose weights were changed by {PART:.0%}, how many of them were named as the culprit, "
            "and the least relative error right behind one."
        )
        intro = (
            f"Pairs of tensors of PyTorch and of the graph in {args.precision}; the largest relative error among them, "
            "on two images of the data set; seconds and peak memory, the export included."
            f"{planted if args.precision == 'fp32' else ''}\n\n" + machine("torch", "torchvision", "onnxruntime")
        )
        script = f"benchmarks/alignment.py --precision {args.precision} --exporters {' '.join(args.exporters)}"
        write_page(args.page, f"Alignment of the shipped models in {args.precision}", intro, script, table)


def _cell(config: str, exporter: str, planted: int, precision: str) -> list[Any]:
    from pipeline.alignment.aligning import MEMORY, THRESHOLDS, align_subject
    from pipeline.alignment.subject import load_subject
    from pipeline.base.steps import unseen
    from pipeline.job.deploy_target import deploy_target
    from zoo.config import load_config

    start = time.perf_counter()
    loaded = load_config(config)
    target = deploy_target(loaded, exporter=exporter, precision=precision)
    subject = load_subject(loaded, target, (), checkpoint=None, deployment=None, onnx_file=None, progress=unseen)
    found = align_subject(subject, THRESHOLDS[precision], MEMORY)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // MIB
    largest, worst = max((pair.figures.relative, pair.name) for pair in found.pairs if pair.figures is not None)
    verdict = "" if found.passed else f" **{found.verdict}**"
    named, least = 0, float("inf")
    layers = _convolutions(subject.model)
    chosen = [layers[round(step * (len(layers) - 1) / max(1, planted - 1))] for step in range(planted)]
    sound = copy.deepcopy(subject.model)
    for tensor, module in chosen:
        subject.model.CopyFrom(sound)
        _change(subject.model, tensor)
        first = align_subject(subject, THRESHOLDS["fp32"], MEMORY, images=1).first
        if first is not None and first.modules[:1] == (module,) and first.figures is not None:
            named, least = named + 1, min(least, first.figures.relative)
        else:
            print(f"{module}: {first}", file=sys.stderr)
    return [
        len(found.pairs),
        f"{largest:.1e}",
        worst + verdict,
        f"{named} of {planted}",
        f"{least:.1e}",
        f"{seconds:.0f}",
        memory,
    ]


def _convolutions(model: onnx.ModelProto) -> list[tuple[str, str]]:
    """The weights of each, and its module."""
    from rewriters.onnx_graph.module_paths import module_path

    stored = {tensor.name for tensor in model.graph.initializer}
    found = [(node.input[1], module_path(node)) for node in model.graph.node if node.op_type == "Conv"]
    return [(name, module) for name, module in dict(found).items() if name in stored and module is not None]


def _change(model: onnx.ModelProto, name: str) -> None:
    (tensor,) = (tensor for tensor in model.graph.initializer if tensor.name == name)
    array = numpy_helper.to_array(tensor)
    noise = np.random.default_rng(0).standard_normal(array.shape)
    tensor.CopyFrom(numpy_helper.from_array((array * (1 + PART * noise)).astype(array.dtype), name))


if __name__ == "__main__":
    main()
