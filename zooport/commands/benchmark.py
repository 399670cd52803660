"""Measure how long deployments take for whole calls, and how many images they do in a second, on this machine."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zooport.open_page import open_page
from zooport.parser import Parser
from zooport.print_table import print_table
from zooport.terminal import open_light_console, show_counts

if TYPE_CHECKING:
    from rich.console import Console

    from backends.benchmark.run import Benchmark
    from zooport.terminal import PlainConsole

EXAMPLES = """examples:
  zooport benchmark work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32 --image street.jpg
  zooport benchmark DEPLOYMENT --image street.jpg --against pytorch plain-export
  zooport benchmark fp32 int8 --image street.jpg park.jpg --threads 1 --workers 1 2 4 --page benchmark.html
  zooport benchmark DEPLOYMENT --image street.jpg --batch 1 8 --threads 1 2 --json benchmark.json

All rows are measured in turns, an image in and a result out. A ratio is the median over the rounds, with its 95 %
interval. The first row is measured twice in each round: how far it is from itself shows which differences mean
something. Deployments need numpy, opencv and onnxruntime only; --against and --page need zooport[export]."""


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport benchmark", description=__doc__, epilog=EXAMPLES)
    several: dict[str, Any] = {"nargs": "+", "action": "extend"}
    flags.add_argument("deployment", nargs="+", metavar="DEPLOYMENT", help="folders that zooport deploy wrote")
    flags.add_argument("--image", metavar="F", help="images to run on", required=True, **several)
    flags.add_argument(
        "--against",
        metavar="B",
        help="compare with pytorch, the unpatched model; with plain-export, what torch.onnx.export makes of it; or "
        "with a backend that runs the graph of the first deployment",
        **several,
    )
    flags.add_argument("--config", metavar="F", help="of the first deployment's model; default: the one of its name")
    flags.add_argument("--checkpoint", metavar="F", help="weights of that model, if they are not the config's")
    counts: dict[str, Any] = {"nargs": "+", "type": int, "metavar": "N"}
    flags.add_argument("--threads", help="threads of a call; default: as deployed, one with --workers", **counts)
    flags.add_argument("--workers", help="calls at once; default: one after another", **counts)
    flags.add_argument("--batch", default=[1], help="images of a call (default: 1)", **counts)
    flags.add_argument("--rounds", type=int, default=30, metavar="N", help="rounds (default: 30)")
    flags.add_argument(
        "--cold", type=int, default=3, metavar="N", help="processes that are started for each row (default: 3; 0: none)"
    )
    flags.add_argument("--device", metavar="D", help="cpu, cuda:N ...; default: as deployed")
    flags.add_argument("--page", type=Path, metavar="FILE", help="also write a page with plots")
    flags.add_argument("--open", action="store_true", help="open the page in a browser")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Measure, print the tables, and write the page; the same as data."""
    from backends.benchmark.run import run_benchmark
    from zoo.manifest import Manifest
    from zooport.benchmark_options import check_options, settings_of, subjects_of

    check_options(options)
    console = open_light_console()
    read = Manifest.read(options.deployment[0]).build_task().kind.read
    images = [read(path) for path in dict.fromkeys(options.image)]
    with show_counts(console, "done") as (_, count), subjects_of(options, images) as subjects:
        measured = run_benchmark(
            subjects, settings_of(options), images, rounds=options.rounds, cold_rounds=options.cold, progress=count
        )
    _print(console, measured)
    if options.page is not None:
        from pipeline.report.benchmark_page import write_benchmark

        write_benchmark(measured, options.page)
        console.print(f"page: {options.page}", soft_wrap=True, highlight=False)
        if options.open:
            open_page(console, options.page)
    return measured.to_dict()


def _print(console: "Console | PlainConsole", measured: "Benchmark") -> None:
    from backends.benchmark.words import (
        COLD_HEADS,
        STAGE_HEADS,
        call_heads,
        call_rows,
        cold_rows,
        stability_words,
        stage_rows,
        text_heads,
    )

    rows, kind = measured.rows, measured.kind
    calls = (call_heads(kind), call_rows(rows))
    for heads, table in (calls, (STAGE_HEADS, stage_rows(rows)), (COLD_HEADS, cold_rows(rows))):
        if table:
            print_table(console, heads, table, text_heads(kind))
    console.print(stability_words(measured.stability), soft_wrap=True, highlight=False)
