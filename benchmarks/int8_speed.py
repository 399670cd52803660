"""int8 against fp32 in ONNX Runtime and in OpenVINO, every shipped model: how much faster, and what it costs.

It runs the deployments of benchmarks/openvino_table.py, whose stage `metric` makes and judges them:

    python benchmarks/openvino_table.py --stages metric
    python benchmarks/int8_speed.py --page docs/measured/int8_speed.md

The graphs of the two precisions run in turns on one image or cloud, batch 1; the ratio is the median of the rounds'
ratios. With --only, the page keeps its rows of other models, and says so. It needs an idle machine. Exit code 3 where a
target is missed.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
from kernel_times import Times, onnxruntime_times, openvino_times, shares
from measured import interleaved, machine, ratio, shipped_configs, write_page
from openvino_table import BACKENDS, OPENVINO, SAMPLE, THREADS, WORK_DIR, judged

from backends import load
from backends.openvino.compiling import CORE, Settings
from backends.openvino.free_inputs import with_free_inputs
from backends.openvino.quantised import guard_quantised
from zoo.processor import processor
from zoo.target import DEFAULT_BACKEND

PRECISIONS = ("fp32", "int8")
ROUNDS = 15
TARGET = 0.60  # of fp32's time, on one thread
LAYERS = {
    DEFAULT_BACKEND: ("Conv", "FusedConv", "ConvTranspose", "Gemm", "FusedGemm", "MatMul", "FusedMatMul"),
    OPENVINO: ("Convolution", "Deconvolution", "FullyConnected", "FullyConnectedQuantizedLegacy", "MatMul"),
}
INTEGER = ("QLinearConv", "QGemm", "QLinearMatMul", "MatMulIntegerToFloat")
PACKAGES = ("onnxruntime", "openvino")
INTRO = (
    f"Batch 1, {ROUNDS} rounds in turns on one image or cloud; calibrated on training data, minmax. The ratio is "
    f"the time of int8 over that of fp32 in the same backend: below 1 int8 is faster. The target is {TARGET} on "
    "one thread, with the metric within its gate on the gate split. Metric: int8 less PyTorch, in points (dB for "
    "PSNR). Layers: what the backend computes in. Where the target is missed, the last column has the backend's "
    "own profile of one thread: the time of the layers in int8 over their time in fp32, and the kinds of nodes "
    "that take most of the time in int8, each with its part of it. Kernels without VNNI add products in 16 bits, "
    "and are at best twice as fast as fp32."
)


def main() -> int:
    """Print and write the table; 3 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="models whose name has one of these")
    parser.add_argument("--state", type=Path, default=WORK_DIR / "state.json", help="of openvino_table.py")
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    state = json.loads(args.state.read_text(encoding="utf-8"))
    heads = ("model", "backend", "layers", "ratio, 1 thread", "ratio, 2 threads", "metric", "gate", "", "profile")
    lines, held, measured = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"], True, shipped_configs(args.only)
    for config in shipped_configs():
        for backend in BACKENDS:
            row = f"| {Path(config).stem} | {backend} |"
            if config not in measured:
                kept = _kept(args.page, row)
                held = held and all("| held |" in line for line in kept)
                lines += kept
                continue
            cells = {precision: judged(state, config, precision, backend) for precision in PRECISIONS}
            words, good = _row(config, backend, cells)
            held = held and good
            lines.append(f"{row} {' | '.join(words)} |")
            print(lines[-1], flush=True)
    if args.page:
        sets = " ".join(processor().instruction_sets or ["unknown"])
        intro = f"{INTRO}\n\n{machine(*PACKAGES)}; instruction sets: {sets}"
        if args.only:
            names = ", ".join(Path(config).stem for config in measured)
            intro += f"\n\nOf the last run: {names}. The other rows are older, and may be of other versions."
        write_page(args.page, "The speed of int8 on a CPU", intro, "benchmarks/int8_speed.py", "\n".join(lines))
    return 0 if held else 3


def _kept(page: Path | None, row: str) -> list[str]:
    """The row of an earlier run, if there is one."""
    lines = page.read_text(encoding="utf-8").splitlines() if page is not None and page.is_file() else []
    return [line for line in lines if line.startswith(row)]


def _row(config: str, backend: str, cells: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], bool]:
    refused = [cell["reason"] for cell in cells.values() if "metric" not in cell]
    if refused:
        return ["", "", "", "", "", "refused", refused[0]], False
    places = {precision: WORK_DIR / Path(config).stem / precision / backend for precision in PRECISIONS}
    sample = np.load(places["int8"].parent / SAMPLE)
    ratios = [_ratio(places, sample, threads) for threads in THREADS]
    metric = cells["int8"]["metric"]
    good = ratios[0] <= TARGET and cells["int8"]["verdict"] == "passed"
    layers = ", ".join(f"{count} {dtype}" for dtype, count in cells["int8"]["layers"].items())
    figures = [f"{value:.3f}" for value in ratios]
    profile = "" if ratios[0] <= TARGET else _profile(places, sample, backend)
    words = [layers, *figures, f"{metric['difference']:+.3f}", f"{metric['gate']:g}", "held" if good else "missed"]
    return [*words, profile], good


def _ratio(places: Mapping[str, Path], sample: Any, threads: int) -> float:
    """Of the graphs alone."""
    models = {precision: load(place, threads=threads) for precision, place in places.items()}
    feeds = {precision: model.feeds(sample)[0] for precision, model in models.items()}
    runs = {name: lambda name=name: models[name].runner.run(feeds[name]) for name in PRECISIONS}
    seconds = interleaved(runs, ROUNDS)
    for model in models.values():
        model.close()
    return ratio(seconds, "int8", "fp32")


def _profile(places: Mapping[str, Path], sample: Any, backend: str) -> str:
    """Why it is no faster: of its layers, and of what takes most of the time."""
    with load(places["fp32"]) as model:
        feed = model.feeds(sample)[0]
    paths = {precision: place / "model.onnx" for precision, place in places.items()}
    if backend == DEFAULT_BACKEND:
        times = onnxruntime_times(paths, feed, threads=1)
    else:
        times = openvino_times({precision: _counting(path, precision) for precision, path in paths.items()}, feed)
    kinds = (*LAYERS[backend], *INTEGER)
    layers = {precision: sum(times[precision].get(kind, 0.0) for kind in kinds) for precision in PRECISIONS}
    return f"layers {layers['int8'] / layers['fp32']:.2f} of fp32's; {_shares(times['int8'])}"


def _shares(times: Times) -> str:
    return shares(times, most=4)


def _counting(path: Path, precision: str) -> Any:
    """A compiled model that measures its nodes."""
    model = CORE.read_model(with_free_inputs(path.read_bytes()))
    if precision == "int8":
        guard_quantised(model)
    return CORE.compile_model(
        model, "CPU", {**Settings(precision=precision, threads=1).properties(), "PERF_COUNT": True}
    )


if __name__ == "__main__":
    sys.exit(main())
