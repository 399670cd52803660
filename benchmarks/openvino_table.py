"""OpenVINO beside ONNX Runtime: every shipped model, fp32 and int8, on 1 and 2 threads, in one run.

Stage `metric` deploys each model for both backends: the metric of both against PyTorch's (fp32: the config's data set;
int8: the gate split, as a deploy judges it), and what they compute in. Stage `time` runs these deployments: the latency
of a whole call on one image or cloud in turns, the first load and the memory in fresh processes. Each cell is a process
of its own. benchmarks/int8_speed.py runs the same deployments.

    python benchmarks/openvino_table.py --stages metric
    python benchmarks/openvino_table.py --page docs/measured/openvino.md

The stage `time` needs an idle machine. The script may be interrupted: cells are kept in --state and done once. Exit
code 3 where a deployment for OpenVINO misses a gate.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
from matrix import all_passed, run_cells
from measured import (
    PRECISION_CODE,
    growth,
    interleaved,
    machine,
    ratio,
    shipped_configs,
    sources,
    state_of,
    write_page,
)

from backends import load
from pipeline.deploying import make_deployment
from pipeline.evaluating import evaluate
from pipeline.job.deploy_target import deploy_target
from pipeline.job.job import plan_job
from zoo.config import load_config
from zoo.processor import processor
from zoo.target import DEFAULT_BACKEND

OPENVINO, TIME = "openvino", "time"
BACKENDS = (DEFAULT_BACKEND, OPENVINO)
PRECISIONS = ("fp32", "int8")
STAGES = ("metric", "time")
THREADS = (1, 2)
ROUNDS = 15
WORK_DIR = ROOT / "work_dirs/openvino_table"
RUNS = 3  # of a process whose memory is measured
CODE = ("benchmarks/openvino_table.py", *PRECISION_CODE)
MIB = 2**20
SAMPLE = "sample.npy"  # the image or cloud that a model is timed on
PACKAGES = ("openvino", "onnxruntime", "torch", "onnx")
INTRO = (
    "Every shipped model for OpenVINO and for ONNX Runtime; in fp32 the file is the same, but for deformable "
    "convolutions and antialiased resizes. Metric: of PyTorch, and the differences of both deployments to it "
    "(points, or dB), in fp32 on the config's data set, in int8 on the gate split. Latency: OpenVINO's time over "
    f"ONNX Runtime's of a whole call on one image or cloud, the median of {ROUNDS} interleaved rounds; in "
    "brackets ONNX Runtime's milliseconds. First load: from `load` to the first result in a fresh process, in "
    "ms, on one thread; for OpenVINO also from its cache. Memory: by how much that process grows, in MiB, in "
    f"{RUNS} runs. Layers: what OpenVINO computes in, read from the graph that it executes. Where a backend "
    "refuses a model, its column says why, and nothing is timed."
)


def main() -> int:
    """Print and write the table; 3 where a gate is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="models whose name has one of these")
    parser.add_argument("--precisions", nargs="+", default=PRECISIONS, choices=PRECISIONS)
    parser.add_argument("--stages", nargs="+", default=STAGES, choices=STAGES)
    parser.add_argument("--state", type=Path, default=WORK_DIR / "state.json")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=3, metavar=("CONFIG", "PRECISION", "BACKEND"), help=argparse.SUPPRESS)
    parser.add_argument("--start", nargs=2, metavar=("DEPLOYMENT", "SAMPLE"), help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.cell:
        config, precision, backend = args.cell
        print(json.dumps(_time(config, precision) if backend == TIME else _metric(config, precision, backend)))
        return 0
    if args.start:
        print(json.dumps(_start(Path(args.start[0]), Path(args.start[1]), args.cache)))
        return 0
    configs = shipped_configs(args.only)
    state = state_of(args.state, sources(*CODE), *PACKAGES)
    models = [(config, precision) for config in configs for precision in args.precisions]
    stages = {"metric": BACKENDS, "time": (TIME,)}
    cells = [(*model, last) for stage in args.stages for model in models for last in stages[stage]]
    run_cells(__file__, [cell for cell in cells if cell[-1] != TIME], state, args.state)
    run_cells(__file__, [cell for cell in cells if cell[-1] == TIME and _is_whole(cell, state)], state, args.state)
    if set(args.stages) == set(STAGES):
        content = table({model: _cells_of(model, state) for model in models})
        print(content)
        if args.page:
            sets = " ".join(processor().instruction_sets or ["unknown"])
            intro = f"{INTRO}\n\n{machine(*PACKAGES)}; instruction sets: {sets}"
            write_page(args.page, "OpenVINO beside ONNX Runtime", intro, "benchmarks/openvino_table.py", content)
    return 0 if all_passed([cell for cell in cells if cell[-1] == OPENVINO], state) else 3


def judged(state: Mapping[str, Any], config: str, precision: str, backend: str) -> dict[str, Any]:
    """The cell of a deployment: its metric and layers, or why there is none."""
    cell: dict[str, Any] = state[f"{config} | {precision} | {backend}"]
    return cell


def _is_whole(cell: Sequence[str], state: Mapping[str, Any]) -> bool:
    """Whether there is a deployment for each backend."""
    return all("metric" in judged(state, cell[0], cell[1], backend) for backend in BACKENDS)


def _cells_of(model: tuple[str, str], state: Mapping[str, Any]) -> dict[str, Any]:
    return {last: state.get(" | ".join((*model, last))) for last in (*BACKENDS, TIME)}


def table(rows: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    """One line for each model and precision, of its cells by backend, and of the times."""
    heads = (
        *("model", "precision", "metric", "ONNX Runtime", "OpenVINO", "gate", "1 thread", "2 threads"),
        *("first load, ONNX Runtime", "OpenVINO", "from its cache", "memory, ONNX Runtime", "OpenVINO", "layers", ""),
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for (config, precision), cells in rows.items():
        ours, theirs = cells[OPENVINO], cells[DEFAULT_BACKEND]
        metric = (theirs if "metric" in theirs else ours).get("metric")
        words = ["", *(cell.get("reason", "refused") for cell in (theirs, ours)), ""]
        if metric is not None:
            name, reference = metric["name"].rpartition("/")[2], f"{metric['reference']:.2f}"
            differences = (
                f"{cell['metric']['difference']:+.3f}" if "metric" in cell else cell["reason"]
                for cell in (theirs, ours)
            )
            words = [f"{name} {reference}", *differences, f"{metric['gate']:g}"]
        times = [""] * 7
        if cells[TIME] is not None and "latency" in cells[TIME]:
            latency, starts = cells[TIME]["latency"], cells[TIME]["starts"]
            times = [
                *(f"{latency[str(n)]['ratio']:.2f} ({latency[str(n)]['ms']:.1f} ms)" for n in THREADS),
                *(f"{starts[name]['ms']:.0f}" for name in (DEFAULT_BACKEND, OPENVINO, "cached")),
                *(f"{starts[name]['mib']:.0f}" for name in (DEFAULT_BACKEND, OPENVINO)),
            ]
        layers = ", ".join(f"{count} {dtype}" for dtype, count in ours.get("layers", {}).items())
        verdict = "refused" if ours["verdict"] == "failed" else ours["verdict"]
        lines.append(f"| {Path(config).stem} | {precision} | {' | '.join([*words, *times, layers, verdict])} |")
    return "\n".join(lines)


def _folder(config: str, precision: str) -> Path:
    """Of both deployments of a model, and the sample that they are timed on."""
    return WORK_DIR / Path(config).stem / precision


def _places(folder: Path) -> dict[str, Path]:
    return {backend: folder / backend for backend in BACKENDS}


def _metric(config: str, precision: str, backend: str) -> dict[str, Any]:
    """Makes and judges a deployment; a missed gate is a result, too."""
    folder = _folder(config, precision)
    place = _places(folder)[backend]
    target = deploy_target(load_config(config), backend=backend, precision=precision)
    with tempfile.TemporaryDirectory() as scratch:
        job = plan_job(config, target, (), scratch)
        deployed = make_deployment(job, allow_parity_failure=True)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(deployed.place, place)
    np.save(folder / SAMPLE, job.images[0].value)
    if precision == "fp32":
        metric = _on_data_set(config, place)
    else:
        assert isinstance(deployed.record.metric, tuple)  # each shipped config has a gate split
        metric = _of_gate_split(deployed.record.metric)
    verdict = "passed" if abs(metric["difference"]) <= metric["gate"] else "missed"
    layers = deployed.deployment.manifest.precision.get("nodes", {}).get("computed", {})
    return {"verdict": verdict, "metric": metric, "layers": layers}


def _time(config: str, precision: str) -> dict[str, Any]:
    """Of the deployments of stage `metric`."""
    folder = _folder(config, precision)
    places, sample = _places(folder), folder / SAMPLE
    starts = {backend: _fresh(place, sample) for backend, place in places.items()}
    with tempfile.TemporaryDirectory() as cache:
        _fresh(places[OPENVINO], sample, Path(cache))
        starts["cached"] = _fresh(places[OPENVINO], sample, Path(cache))
    latency = {str(threads): _latency(places, sample, threads) for threads in THREADS}
    return {"verdict": "passed", "latency": latency, "starts": starts}


def _on_data_set(config: str, place: Path) -> dict[str, Any]:
    """By the config's data set."""
    with tempfile.TemporaryDirectory() as work_dir:
        evaluation = evaluate(config, deployments=[place], work_dir=work_dir)
    name = evaluation.metric
    assert name is not None  # each shipped config has truth
    reference, row = evaluation.rows
    return {"name": name, "reference": reference.figures[name], "gate": row.gate, "difference": row.difference}


def _of_gate_split(figures: Sequence[Any]) -> dict[str, Any]:
    """As the deploy judged it."""
    main = figures[0]
    return {
        "name": main.name,
        "reference": main.reference,
        "gate": main.gate,
        "difference": main.value - main.reference,
    }


def _latency(places: dict[str, Path], sample: Path, threads: int) -> dict[str, float]:
    value = np.load(sample)
    models = {backend: load(place, threads=threads) for backend, place in places.items()}
    seconds = interleaved({backend: lambda model=model: model(value) for backend, model in models.items()}, ROUNDS)  # type: ignore[misc]
    for model in models.values():
        model.close()
    return {
        "ratio": ratio(seconds, OPENVINO, DEFAULT_BACKEND),
        "ms": 1000 * float(np.median(seconds[DEFAULT_BACKEND])),
    }


def _fresh(place: Path, sample: Path, cache: Path | None = None) -> dict[str, float]:
    """First load and memory in a process of its own."""
    more = [] if cache is None else ["--cache", str(cache)]
    command = [sys.executable, __file__, "--start", str(place), str(sample), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _start(place: Path, sample: Path, cache: Path | None) -> dict[str, float]:
    value = np.load(sample)
    seconds = 0.0

    def run() -> None:
        nonlocal seconds
        start = time.perf_counter()
        with load(place, threads=1, cache=cache) as model:
            model(value)
            seconds = time.perf_counter() - start
            for _ in range(RUNS - 1):
                model(value)

    grown = growth(run)
    return {"ms": 1000 * seconds, "mib": grown / MIB}


if __name__ == "__main__":
    sys.exit(main())
