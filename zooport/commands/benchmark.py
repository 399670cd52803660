"""Measure how long deployments take for whole calls, image in and result out, side by side on this machine."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zooport.parser import Parser, check_counts
from zooport.terminal import open_light_console, show_counts, write_line

if TYPE_CHECKING:
    from backends.timing import Timing

EXAMPLES = """examples:
  zooport benchmark work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32 --image street.jpg
  zooport benchmark fp32 int8 --image street.jpg park.jpg --batch 4 --threads 1 2 --json benchmark.json

Several deployments are interleaved. "of the first" is the median of the rounds' ratios to the time of the first
deployment, with the quartiles in brackets; "no clear difference": 1 is between them. Run it on an idle machine.
It needs numpy, opencv and onnxruntime only."""
HEADS = ("deployment", "threads", "first ms", "p50 ms", "p90 ms", "p99 ms", "images/s", "of the first")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport benchmark", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("deployment", nargs="+", metavar="DEPLOYMENT", help="folders that zooport deploy wrote")
    flags.add_argument("--image", nargs="+", action="extend", required=True, metavar="F", help="images to run on")
    flags.add_argument("--batch", type=int, default=1, metavar="N", help="images of a call (default: 1)")
    flags.add_argument(
        "--threads",
        nargs="+",
        type=int,
        metavar="N",
        help="threads of a call; several are compared; default: as deployed",
    )
    flags.add_argument("--rounds", type=int, default=30, metavar="N", help="timed calls of each (default: 30)")
    flags.add_argument("--device", metavar="D", help="cpu, cuda:N ...; default: as deployed")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Measure and print a table; the same as data."""
    check_counts(options, "batch", "rounds")
    from backends.timing import time_deployments
    from zoo.manifest import Manifest
    from zoo.processor import processor

    console = open_light_console()
    folders = list(dict.fromkeys(options.deployment))
    read = Manifest.read(folders[0]).build_task().kind.read
    images = [read(options.image[number % len(options.image)]) for number in range(options.batch)]
    timings: list[Timing] = []
    with show_counts(console, "rounds") as (_, count):
        for threads in options.threads or [None]:
            timings += time_deployments(
                folders, images, threads=threads, provider=options.device, rounds=options.rounds, progress=count
            )
    for line in _table(timings):
        write_line(line)
    return {
        "processor": processor().to_dict(),
        "rounds": options.rounds,
        "timings": [timing.to_dict() for timing in timings],
    }


def _table(timings: Sequence["Timing"]) -> list[str]:
    rows = [HEADS, *(_row(timing, timing.deployment == timings[0].deployment) for timing in timings)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _row(timing: "Timing", is_first: bool) -> tuple[str, ...]:
    ratio = f"{timing.ratio:.2f} ({timing.low:.2f} to {timing.high:.2f})"
    figures = (f"{value:.1f}" for value in (timing.first, timing.p50, timing.p90, timing.p99, timing.images_per_second))
    return (
        timing.deployment,
        "default" if timing.threads is None else str(timing.threads),
        *figures,
        "" if is_first else ratio if timing.is_clear else f"{ratio}, no clear difference",
    )
