"""torchvision's whole detectors: what an export of ours costs, and how fast it runs beside the alternatives.

For each architecture, with calibrated random weights on shipped images: export time, peak memory, nodes and file size
by both exporters, at 320 px; then the latency of our graph (dynamo) in ONNX Runtime and in OpenVINO, of torch's plain
torchscript export of the unpatched model, of eager PyTorch and of torch.compile, interleaved, at 320 and 800 px: a
batch of 1 with 2 threads and with 1, and a batch of 4 with 2. Each architecture and size is a process of its own; a
cell that fails says why.

    python benchmarks/torchvision_zoo.py --page docs/measured/torchvision_zoo.md

The script may be interrupted: cells are kept in --state, beside the page, and done once; --anew does them again. The
page says which sources each was measured with. Exit code 3 where a target is missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import onnx
import torch
from export_stages import CAPTURE, DECOMPOSE, TORCH, stage_seconds
from measured import STAMP, interleaved, keep, made_with, ratio, reduce_colors, stamps, write_page
from sessions import PlainDetector, open_session, plain_export, session_run
from torch import Tensor
from torchvision_models import ARCHITECTURES, calibrated, made_of, sample_images, task_of

from backends.openvino.compiling import CORE, Settings
from pipeline.export.output_specs import output_specs
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import graph_references
from rewriters import export_onnx
from zoo.families import contract_module
from zoo.target import AxisRange, Target

SIZES = {"320": (256, 320), "800": (608, 800)}
THREADS = {1: (2, 1), 4: (2,)}
"""By size of the batch."""
JUDGED = (1, 2)  # batch and threads of the rows that have a target
LEAST, LEAST_JUDGED, MOST = 2, 5, 11  # rounds
ENOUGH = 20  # seconds, in which as many are made as fit
EXPORTERS = ("torchscript", "dynamo")  # the last one's file is timed
EXPORTS_AT = "320"
PACKAGES = ("torch", "torchvision", "onnxruntime", "openvino")
LIMIT = 3600  # seconds of a cell
OF_EAGER = 0.95
EXPORT_OF_PLAIN = {"fasterrcnn_resnet50_fpn": 3.0}  # of the last exporter, its checks included
# Of the plain export's latency, at batch 1 with 2 threads, by size.
OF_PLAIN: Mapping[str, Mapping[str, float]] = {
    "fasterrcnn_resnet50_fpn": {"320": 0.60, "800": 0.85},
    "fasterrcnn_resnet50_fpn_v2": {"320": 0.60, "800": 0.85},
    "fasterrcnn_mobilenet_v3_large_fpn": {"320": 0.80, "800": 0.80},
    "fasterrcnn_mobilenet_v3_large_320_fpn": {"320": 0.80, "800": 0.80},
    "maskrcnn_resnet50_fpn": {"320": 0.70, "800": 0.70},
    "maskrcnn_resnet50_fpn_v2": {"320": 0.70, "800": 0.70},
    "keypointrcnn_resnet50_fpn": {},
    "retinanet_resnet50_fpn": {"320": 1.03, "800": 1.03},
    "retinanet_resnet50_fpn_v2": {"320": 1.03, "800": 1.03},
    "fcos_resnet50_fpn": {"320": 1.03, "800": 1.03},
    "ssd300_vgg16": {"320": 0.80, "800": 0.80},
    "ssdlite320_mobilenet_v3_large": {"320": 0.80, "800": 0.80},
}


def main() -> int:
    """Print the tables; 3 where a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", help="default: all")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--state", type=Path, default=ROOT / "docs/measured/torchvision_zoo.json")
    parser.add_argument("--anew", action="store_true", help="also cells that are done")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        warnings.simplefilter("ignore")
        print(json.dumps(_cell(*args.cell.split())))
        return 0
    cells: dict[str, Any] = json.loads(args.state.read_text(encoding="utf-8")) if args.state.is_file() else {}
    wanted = [f"{architecture} {size}" for size in args.sizes for architecture in args.architectures or ARCHITECTURES]
    for key in wanted:
        if args.anew or key not in cells:
            begin = time.perf_counter()
            cells[key] = _in_a_process(key) | {STAMP: made_with(made_of(), *PACKAGES)}
            keep(cells, args.state)
            print(f"{key}: {cells[key].get('failed', 'done')}, {time.perf_counter() - begin:.0f} s", flush=True)
    every = [f"{architecture} {size}" for size in SIZES for architecture in ARCHITECTURES]
    cells = {key: cells[key] for key in every if key in cells}
    (exports, exported), (latencies, held) = _exports(cells), _latencies(cells)
    print(f"{exports}\n\n{latencies}")
    if args.page:
        intro = (
            "torchvision's complete detectors with calibrated random weights, at level final with a dynamic batch, on "
            f"shipped images. Exports are those of {EXPORTS_AT} px. Latency: medians of {LEAST} to {MOST} interleaved "
            f"rounds. Judged rows (batch {JUDGED[0]}, {JUDGED[1]} threads) have at least {LEAST_JUDGED} if the column "
            "rounds has a number. Ours is the dynamo export in ONNX Runtime, plain is torch.onnx.export(dynamo=False) "
            "of the unpatched model in ONNX Runtime. OpenVINO runs our file, in fp32. The target is a part of the "
            f"plain export's time. A judged row also misses if ours takes {OF_EAGER} of eager's time or more. [Where "
            "the time goes](operator_times.md) has the profile of what misses its target.\n\n"
            + "\n\n".join(stamps(cells))
        )
        if missing := [key for key in every if key not in cells]:
            intro += f"\n\nNot measured yet: {', '.join(missing)}."
        sample_image = args.page.with_suffix(".png")
        _plot(cells, sample_image)
        table = f"## Exports\n\n{exports}\n\n## Latency\n\n![of the plain export]({sample_image.name})\n\n{latencies}"
        write_page(args.page, "torchvision's zoo, measured", intro, "benchmarks/torchvision_zoo.py", table)
    return 0 if held and exported else 3


def _in_a_process(key: str) -> dict[str, Any]:
    # torch.compile then asks for the number of threads when it runs, as the others do
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "TORCHINDUCTOR_CPP_DYNAMIC_THREADS": "1"}
    command = [sys.executable, __file__, "--cell", key]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {LIMIT} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]}
    content: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return content


def _cell(architecture: str, size: str) -> dict[str, Any]:
    model = calibrated(architecture, SIZES[size])
    module, exports = PlainDetector(model).eval(), {}
    plain = {}
    for batch in reversed(THREADS):  # the file of a batch of one is the one whose figures stay
        begin = time.perf_counter()
        plain[batch] = plain_export(module, sample_images(batch, SIZES[size]))
        exports["plain"] = _file(plain[batch], time.perf_counter() - begin)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for exporter in EXPORTERS if size == EXPORTS_AT else EXPORTERS[-1:]:
            exports[exporter] = export_ours(model, architecture, exporter, SIZES[size], path)
        ours = path.read_bytes()
    latency = {str(batch): _latency(module, ours, plain[batch], size, batch) for batch in THREADS}
    return {"exports": exports, "latency": latency}


def _latency(module: Any, ours: bytes, plain: bytes, size: str, batch: int) -> dict[str, Any]:
    """By number of threads: milliseconds of each run, and ours as a part of each other one."""
    images = sample_images(batch, SIZES[size])
    feed = {"images": images.numpy()}
    torch.compiler.reset()  # or the second batch would make the first one's axis dynamic
    eager, compiled = _inference(module, images), _inference(torch.compile(module), images)
    found = {}
    for threads in THREADS[batch]:
        torch.set_num_threads(threads)
        runs: dict[str, Callable[[], Any]] = {
            "ours": session_run(open_session(ours, threads), feed),
            "openvino": _openvino_run(ours, threads, feed),
            "plain": session_run(open_session(plain, threads), feed),
            "eager": eager,
            "compile": compiled,
        }
        # where torch compiles, the first untimed run does
        seconds = interleaved(runs, LEAST, warm_up=0)
        least = LEAST_JUDGED if (batch, threads) == JUDGED else LEAST
        rounds = min(max(int(ENOUGH / sum(map(min, seconds.values()))), least), MOST)
        more = interleaved(runs, rounds - LEAST, warm_up=0)
        for name, values in more.items():
            seconds[name] += values
        found[str(threads)] = {
            "rounds": rounds,
            "ms": {name: 1e3 * statistics.median(values) for name, values in seconds.items()},
            "of": {name: ratio(seconds, "ours", name) for name in runs if name not in ("ours", "openvino")},
            "openvino of plain": ratio(seconds, "openvino", "plain"),
        }
    return found


def _openvino_run(content: bytes, threads: int, feed: Mapping[str, Any]) -> Callable[[], Any]:
    properties = Settings(threads=threads).properties()
    request = CORE.compile_model(CORE.read_model(content), "CPU", properties).create_infer_request()
    return lambda: request.infer(dict(feed))


def export_ours(model: Any, architecture: str, exporter: str, size: tuple[int, int], path: Path) -> dict[str, Any]:
    """Our export at level final with a dynamic batch, in `path`: what it took, and what it gave."""
    task = task_of(architecture)
    contract = contract_module(model, task, "final", {})
    references = graph_references(
        model, task, "final", {}, [GraphInput((), {"images": sample_images(2, size).numpy()})]
    )
    target = Target(
        {"batch": AxisRange(1, 2, 8), "height": AxisRange.fixed(size[0]), "width": AxisRange.fixed(size[1])},
        exporter=exporter,
    )
    specs = output_specs(contract.outputs(task, "final"), target, references)
    with stage_seconds() as stages:
        record = export_onnx(contract, target, path, example={"images": sample_images(2, size)}, output_specs=specs)
    return {
        **_file(path.read_bytes(), record.seconds),
        "peak_memory": record.peak_memory,
        "nodes": record.nodes,
        "stages": dict(stages),
    }


def _file(content: bytes, seconds: float) -> dict[str, Any]:
    nodes = len(onnx.load_model_from_string(content).graph.node)
    return {"seconds": seconds, "bytes": len(content), "nodes": nodes}


def _inference(module: Any, images: Tensor) -> Callable[[], Any]:
    def run() -> object:
        with torch.inference_mode():
            return module(images)

    return run


def _exports(cells: Mapping[str, Any]) -> tuple[str, bool]:
    columns = (
        *("architecture", "exporter", "s", "of plain", "torch's part (capture, decompose)"),
        *("peak MiB", "nodes", "file MiB", "target", ""),
    )
    lines, held = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"], True
    for key, cell in cells.items():
        architecture, size = key.split()
        if "failed" in cell or size != EXPORTS_AT:
            continue
        plain = cell["exports"]["plain"]["seconds"]
        for name, export in cell["exports"].items():
            peak = f"{export['peak_memory'] / 2**20:.0f}" if "peak_memory" in export else ""
            most = EXPORT_OF_PLAIN.get(architecture) if name == EXPORTERS[-1] else None
            good = most is None or export["seconds"] / plain <= most
            held = held and good
            judged = "| |" if most is None else f"| {most:g} | {'held' if good else 'missed'} |"
            lines.append(
                f"| {architecture} | {name} | {export['seconds']:.1f} | {export['seconds'] / plain:.1f} "
                f"| {_stages(export.get('stages', {}), plain)} | {peak} | {export['nodes']} "
                f"| {export['bytes'] / 2**20:.1f} {judged}"
            )
    return "\n".join(lines), held


def _stages(seconds: Mapping[str, float], plain: float) -> str:
    """What torch's own exporter takes of the plain export's time, which no rewriting shortens."""
    if not seconds:
        return ""
    parts = [f"{seconds[name] / plain:.1f}" for name in (CAPTURE, DECOMPOSE) if name in seconds]
    return f"{seconds[TORCH] / plain:.1f}" + (f" ({', '.join(parts)})" if parts else "")


def _latencies(cells: Mapping[str, Any]) -> tuple[str, bool]:
    columns = (
        *("architecture", "px", "batch", "threads", "ours ms", "of plain", "OpenVINO, of plain"),
        *("of eager", "of torch.compile", "rounds", "target", ""),
    )
    lines, held = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"], True
    for key, cell in cells.items():
        architecture, size = key.split()
        if "failed" in cell:
            lines.append(f"| {architecture} | {size} | | | {cell['failed']} | | | | | | | missed |")
            held = False
            continue
        for batch, threads in ((batch, threads) for batch, several in THREADS.items() for threads in several):
            latency = cell["latency"][str(batch)][str(threads)]
            of, word, target = latency["of"], "", OF_PLAIN[architecture].get(size)
            if (batch, threads) == JUDGED:
                word = _verdict(latency, target)
                held = held and word != "missed"
            openvino = latency.get("openvino of plain")
            lines.append(
                f"| {architecture} | {size} | {batch} | {threads} | {latency['ms']['ours']:.1f} | {of['plain']:.2f} "
                f"| {'' if openvino is None else format(openvino, '.2f')} | {of['eager']:.2f} | {of['compile']:.2f} "
                f"| {latency.get('rounds', '')} "
                f"| {'' if target is None or not word else format(target, '.2f')} | {word} |"
            )
    return "\n".join(lines), held


def _verdict(latency: Mapping[str, Any], target: float | None) -> str:
    """Of a cell with its target; OpenVINO runs the same file, where ONNX Runtime is not fast enough."""
    of, most = latency["of"], float("inf") if target is None else target
    if of["eager"] >= OF_EAGER:
        return "missed"
    if of["plain"] <= most:
        return "held"
    return "held in OpenVINO" if latency.get("openvino of plain", float("inf")) <= most else "missed"


def _plot(cells: Mapping[str, Any], path: Path) -> None:
    """Ours as a part of the plain export and of eager, at batch 1 with 2 threads."""
    rows = [(key, cell["latency"]["1"]["2"]["of"]) for key, cell in cells.items() if "failed" not in cell]
    figure, axes = plt.subplots(figsize=(9, 1 + 0.3 * len(rows)), layout="constrained")
    places = range(len(rows))
    axes.barh([place - 0.2 for place in places], [of["plain"] for _, of in rows], 0.4, label="of the plain export")
    axes.barh([place + 0.2 for place in places], [of["eager"] for _, of in rows], 0.4, label="of eager PyTorch")
    axes.set_yticks(list(places), [f"{name} px" for name, _ in rows])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.set_xlabel("latency of our graph, batch 1, 2 threads (below 1: ours is faster)")
    figure.legend(loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=120)
    reduce_colors(path)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
