"""Measures, on a Linux machine with a CUDA device, what zooport does there. No network is needed. See docs/gpu.md.

    python benchmarks/gpu/run.py                                   # every stage, in order
    python benchmarks/gpu/run.py --stage tests onnxruntime --out findings
    python benchmarks/gpu/run.py --stage tensorrt --rehearse       # its form on a CPU

Each stage ends after --seconds, with what it has measured by then, in --out: findings.json, and the weights of a
training that came out better. A stage that cannot run says why, and the others follow. Exit code 4 where none could
run. Packages that make gpu-wheels prepared are found where benchmarks/gpu/wheels.py installed them.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SEARCHED = [str(ROOT / "work_dirs/gpu/site"), str(ROOT), str(ROOT / "benchmarks")]
sys.path[:1] = SEARCHED  # in the place of this folder

try:
    from gpu.facts import facts
    from gpu.forked import run_forked
    from gpu.kept import check_bounds, keep_stage
    from gpu.measuring import measure_cell
    from gpu.paths import FINDINGS, SCRATCH
    from gpu.scheduling import run_stage
    from gpu.stage import Cell, Place, Stage, stages
    from zoo.errors import BackendUnavailableError, ZooportError
except ModuleNotFoundError as error:
    sys.exit(f"error: {error.name} is not installed; run benchmarks/gpu/wheels.py install first, see docs/gpu.md")

SECONDS = 480.0
MOST_WORKERS = 8
DEVICE, REHEARSED_ON = "cuda:0", "cpu"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the stages."""
    known = stages()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", nargs="+", choices=known, default=list(known), help="default: all, in this order")
    parser.add_argument("--only", nargs="+", metavar="REGEX", help="only cells in whose name one of these is found")
    parser.add_argument("--out", type=Path, default=FINDINGS, metavar="D", help="folder for the findings")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, metavar="D", help="folder for deployments")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="N", help="of each stage (default: 480)")
    parser.add_argument("--workers", type=int, default=_workers(), metavar="N", help="cells beside each other")
    parser.add_argument("--rehearse", action="store_true", help="on the CPU, small: what needs a device has a stand-in")
    options = parser.parse_args(arguments)
    os.environ["PYTHONPATH"] = os.pathsep.join([*SEARCHED, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    os.environ["PYTHONWARNINGS"] = "ignore"
    place = Place(
        REHEARSED_ON if options.rehearse else DEVICE,
        options.scratch.resolve() / ("rehearsal" if options.rehearse else "device"),
        options.out.resolve(),
        options.seconds,
        options.rehearse,
    )
    records = [_run(known[name], place, options) for name in options.stage]
    check_bounds(place.out)
    return 0 if any(record["lack"] is None for record in records) else BackendUnavailableError.exit_code


def _workers() -> int:
    return max(1, min(MOST_WORKERS, len(os.sched_getaffinity(0)) // 2))


def _run(stage: Stage, place: Place, options: argparse.Namespace) -> dict[str, Any]:
    """One stage; what it does is printed as it goes."""
    print(f"{stage.name}: {stage.question}", flush=True)
    known, printed = facts(), set[str]()
    chosen = stage if options.only is None else stage.matching(options.only)

    def process(cell: Cell, answer: Path, seconds: float, log: Path, deadline: float, stop: Event) -> int | None:
        limited = replace(place, seconds=seconds)
        arguments = (stage.name, cell.name, limited, answer, options.workers)
        return run_forked(measure_cell, *arguments, log=log, deadline=deadline, stop=stop)

    def kept(record: dict[str, Any]) -> None:
        keep_stage(place.out, stage.name, {"facts": known, **record})
        for name, cell in record["cells"].items():
            if name not in printed:
                printed.add(name)
                failed = ", ".join(f"{step} failed" for step in cell["faults"])
                how = cell["lack"] or cell["ended"] or failed or "done"
                print(f"  {name}: {how}, {cell['seconds']:.0f} s", flush=True)

    record = run_stage(chosen, place, process, kept, workers=options.workers)
    end = record["lack"] or f"{len(record['cells'])} measured, {len(record['left_out'])} left out"
    print(f"{stage.name}: {end}, {record['seconds']:.0f} s", flush=True)
    return record


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ZooportError as error:
        sys.exit(f"error: {error}")
