"""What ONNX Runtime's memory settings cost and save: our sessions against its defaults, for every shipped model.

ONNX Runtime plans the buffers of a graph ahead (reuse), and after the first run once more as one block (pattern), while
its arena keeps what the first run took. Our sessions have neither, and the arena alone gives memory back and out again.
Peak memory is what a process of its own grows by in three runs of one shape; latency is measured in turns.

A session that the workers of `load(folder, workers=N)` share has the pattern: the second table compares it with one
that has not, while as many threads as CPUs call it at the same time.

    python benchmarks/session_memory.py --page docs/measured/session_memory.md

Exit code 3 where our sessions are slower than 1.03 of the defaults, or take more memory than 1.03 of theirs, and where
a shared one with the pattern is slower than 1.03 of one without.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
import onnxruntime as ort
from measured import growth, interleaved, machine, of_one_size, ratio, shipped_configs, write_page
from sessions import session_run

from backends.onnxruntime.session import session_options
from backends.threads import default_threads
from pipeline.export.export_step import export_step
from pipeline.export.reference_run import run_reference
from pipeline.job.job import plan_job
from zoo import build_model
from zoo.config import load_config

SETTINGS = ("defaults", "ours")
SHARED = ("without", "with")  # the pattern
CALLS = 8  # of each thread in a round
RUNS = 3
MOST = 1.03
MIB = 2**20


def main() -> int:
    """Print the table; 3 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", help="default: the shipped ones")
    parser.add_argument("--batches", nargs="+", type=int, default=(1, 4))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=3, metavar=("SETTINGS", "FILE", "BATCH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.cell:
        settings, path, batch = args.cell
        print(_peak(settings, Path(path), int(batch)))
        return 0
    lines = ["| model | batch | defaults MiB | ours MiB | memory | latency |", "|---" * 6 + "|"]
    shared = ["| model | without MiB | with MiB | memory | time |", "|---" * 5 + "|"]
    held = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for config in args.configs or shipped_configs(takes=of_one_size):
            _export(config, path.parent)
            for batch in args.batches:
                peaks = dict(zip(SETTINGS, _in_processes(SETTINGS, path, batch), strict=True))
                feed = _feed(_session("ours", path), batch)
                runs = {settings: session_run(_session(settings, path), feed) for settings in SETTINGS}
                slower = ratio(interleaved(runs, args.rounds), "ours", "defaults")
                less = peaks["ours"] / peaks["defaults"]
                held = held and slower <= MOST and less <= MOST
                lines.append(
                    f"| {Path(config).stem} | {batch} | {peaks['defaults'] / MIB:.0f} | {peaks['ours'] / MIB:.0f} "
                    f"| {less:.2f} | {slower:.2f} |"
                )
                print(lines[-1], flush=True)
            row, quick = _shared(Path(config).stem, path, args.rounds)
            held = held and quick
            shared.append(row)
            print(shared[-1], flush=True)
    if args.page:
        intro = (
            "Sessions of backends.onnxruntime (no memory pattern, no planned reuse) against the defaults, at "
            f"level final. Memory: what a process grows by in {RUNS} runs. Latency: median ratio of {args.rounds} "
            "interleaved rounds.\n\n" + machine("onnxruntime")
        )
        threads = default_threads()
        beside = (
            f"## Shared by workers\n\nThe session of `load(folder, workers={threads})`, with the memory pattern, "
            f"beside one without it: {threads} threads call it at the same time, a batch of 1. Time: median ratio of "
            f"{args.rounds} interleaved rounds of {CALLS} calls of each thread."
        )
        table = "\n".join([*lines, f"\n{beside}\n", *shared])
        write_page(args.page, "Memory of a session", intro, "benchmarks/session_memory.py", table)
    return 0 if held else 3


def _shared(name: str, path: Path, rounds: int) -> tuple[str, bool]:
    """The row of a model's session with the pattern beside one without, and whether it is as quick."""
    feed = _feed(_session("with", path), 1)
    runs = {settings: _together(_session(settings, path), feed) for settings in SHARED}
    slower = ratio(interleaved(runs, rounds), "with", "without")
    less, more = (peak / MIB for peak in _in_processes(SHARED, path, 1))
    return f"| {name} | {less:.0f} | {more:.0f} | {more / less:.2f} | {slower:.2f} |", slower <= MOST


def _export(config: str, folder: Path) -> None:
    job = plan_job(load_config(config), None, [], ROOT / "work_dirs")
    model = build_model(job.config)
    export_step(job, model, run_reference(job, model), folder)


def _session(settings: str, path: Path) -> ort.InferenceSession:
    options = session_options(1, shared=settings == "with") if settings in SHARED else session_options()
    if settings == "defaults":
        options.enable_mem_pattern = options.enable_mem_reuse = True
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _feed(session: ort.InferenceSession, batch: int) -> dict[str, Any]:
    (images,) = session.get_inputs()
    return {images.name: np.random.default_rng(0).random((batch, *images.shape[1:]), np.float32)}


def _in_processes(settings: Sequence[str], path: Path, batch: int) -> list[int]:
    """The peak of each, in bytes. They run side by side, because nothing is timed in them."""

    def peak(setting: str) -> int:
        command = [sys.executable, __file__, "--cell", setting, str(path), str(batch)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])

    with ThreadPoolExecutor() as executor:
        return list(executor.map(peak, settings))


def _peak(settings: str, path: Path, batch: int) -> int:
    session = _session(settings, path)
    feed = _feed(session, batch)
    run = _together(session, feed) if settings in SHARED else session_run(session, feed)
    return growth(lambda: [run() for _ in range(RUNS)])


def _together(session: ort.InferenceSession, feed: dict[str, Any]) -> Callable[[], object]:
    """Calls of as many threads as CPUs, at the same time."""
    threads = default_threads()
    run = session_run(session, feed)

    def together() -> None:
        with ThreadPoolExecutor(threads) as executor:
            list(executor.map(lambda _: [run() for _ in range(CALLS)], range(threads)))

    return together


if __name__ == "__main__":
    sys.exit(main())
