"""Evaluate a model and its deployments: measure whether the metric drops on the test set."""

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from backends.scale.cluster import ClusterRequest
from pipeline.evaluation.arguments import check_arguments, check_backends, requested_backends
from zoo.errors import GateError
from zoo.target import DEFAULT_BACKEND, REFERENCE_BACKEND
from zooport.engines import RAY, add_engine_flags, check_engine
from zooport.parser import Parser
from zooport.ray_options import check_ray_evaluation
from zooport.terminal import LOAD, open_console, show_counts
from zooport.writable import check_reference_results

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.evaluation.records import Evaluation, Row

EXAMPLES = """examples:
  zooport evaluate configs/detection/faster-rcnn_r18-fpn_digits.py
  zooport evaluate configs/segmentation/fcn_r18_digits.py --deployment deployed/fcn --limit 100 --show-dir drawn
  torchrun --nproc-per-node=2 -m zooport evaluate configs/segmentation/fcn_r18_digits.py --launcher pytorch
  zooport evaluate configs/segmentation/fcn_r18_digits.py --engine ray --address auto

Code 3: a metric differs by more than its gate. torchrun itself exits with 1 for every error; --json has the code."""
RAY_FLAGS = ("address", "workers", "gpus")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport evaluate", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("config", metavar="CONFIG", help="the name of a shipped config, or a file")
    flags.add_argument(
        "--backend",
        nargs="+",
        action="extend",
        default=[],
        metavar="B",
        help=f"{REFERENCE_BACKEND} (the reference, always run), {DEFAULT_BACKEND} or another; a missing deployment is "
        "made first. Default: both",
    )
    flags.add_argument(
        "--deployment", nargs="+", action="extend", default=[], metavar="DIR", help="folders that zooport deploy wrote"
    )
    flags.add_argument("--precision", metavar="P", help="precision of the deployments: fp32 (default), fp16 or int8")
    flags.add_argument("--checkpoint", metavar="F", help="weights to use instead of the config's")
    flags.add_argument("--limit", type=int, metavar="N", help="use only the first N images")
    flags.add_argument(
        "--gate-split", action="store_true", help="use the config's gate_dataset; that of the digits is made once"
    )
    flags.add_argument("--batch-size", type=int, default=1, metavar="N", help="images in a batch (default: 1)")
    flags.add_argument("--resume", action="store_true", help="continue an interrupted run")
    flags.add_reference_results()
    flags.add_argument("--show-dir", metavar="D", help="write each image with its result drawn, in a folder per model")
    flags.add_argument("--work-dir", default="work_dirs", metavar="D", help="default: work_dirs")
    flags.add_argument("--device", metavar="D", help="cpu or cuda:N; default: cpu, or the deployment's own")
    add_engine_flags(flags)
    flags.add_argument("--workers", type=int, metavar="N", help="Ray's actors; default: as many as have room")
    flags.add_argument("--launcher", default="none", metavar="L", help="pytorch, if torchrun starts the command")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Evaluate, print, and give the same as data. Raises GateError where a gate was missed."""
    console = open_console()
    first = options.launcher == "none" or os.environ.get("RANK") == "0"
    if not first:  # of several processes the first one reports
        console.quiet = True
        options.json = None
    check_arguments(
        options.backend,
        options.deployment,
        checkpoint=options.checkpoint,
        precision=options.precision,
        launcher=options.launcher,
        limit=options.limit,
        batch_size=options.batch_size,
    )
    check_reference_results(options.reference_results)
    check_engine(options, RAY_FLAGS)
    if options.engine == RAY:
        check_ray_evaluation(options)
    from zoo.config import load_config

    config = load_config(options.config)
    check_backends(requested_backends(options.backend, options.deployment), options.deployment, options.device)
    with show_counts(console, config.task.kind.plural) as (step, count), resumable():
        step(LOAD)
        from pipeline import evaluate

        evaluation = evaluate(
            config,
            options.backend,
            options.deployment,
            precision=options.precision,
            checkpoint=options.checkpoint,
            work_dir=options.work_dir,
            device=options.device,
            limit=options.limit,
            batch_size=options.batch_size,
            resume=options.resume,
            reference_results=options.reference_results,
            gate_split=options.gate_split,
            show_dir=options.show_dir,
            launcher=options.launcher,
            cluster=_cluster(options),
            progress=count,
            steps=step,
        )
    print_table(console, evaluation)
    if options.show_dir:
        console.print(f"images: {options.show_dir}", soft_wrap=True, highlight=False)
    if evaluation.missed and first:
        raise missed(evaluation)
    return evaluation.to_dict()


def _cluster(options: argparse.Namespace) -> ClusterRequest | None:
    """None for this process."""
    return ClusterRequest(options.address, options.workers, options.gpus or 0) if options.engine == RAY else None


@contextmanager
def resumable() -> Iterator[None]:
    """An interruption says how to go on."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note("continue with --resume")
        raise


def missed(evaluation: "Evaluation") -> GateError:
    """The error of a missed gate, with all that was measured for --json."""
    rows = "; ".join(
        f"{row.name} differs from PyTorch by {row.difference:+.3f} {evaluation.unit}, gate {row.gate:g}"
        for row in evaluation.missed
    )
    error = GateError(
        f"{evaluation.metric}: {rows}. Find out where the two diverge before using this deployment: the report in "
        "its folder compares tensor by tensor, --show-dir draws both"
    )
    error.data = evaluation.to_dict()
    return error


def print_table(console: "Console", evaluation: "Evaluation") -> None:
    """A row for each model; below it, where there are more, all figures."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    console.print(
        f"{evaluation.config} on {evaluation.images} {evaluation.kind.plural} of {evaluation.dataset}",
        soft_wrap=True,
        highlight=False,
    )
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    metric = (evaluation.metric or "metric").rpartition("/")[2].replace("_", " ")
    columns = ("model", metric, "diff", "95 % interval", "gate", "ms p50 / p90", "verdict")
    for number, column in enumerate(columns):
        table.add_column(
            column,
            justify="left" if number in (0, len(columns) - 1) else "right",
            no_wrap=number > 0,
            overflow="fold",  # a narrow terminal folds the names
        )
    for row in evaluation.rows:
        table.add_row(*_cells(row, evaluation.metric))
    console.print(table)
    others = [name for name in evaluation.rows[0].figures if name != evaluation.metric]
    if others:
        more = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for number, column in enumerate(("", *(row.name for row in evaluation.rows))):
            more.add_column(column, justify="right" if number else "left")
        for name in others:
            more.add_row(name, *(f"{row.figures[name]:.2f}" for row in evaluation.rows))
        console.print(more)
    console.print(f"ms: of {evaluation.kind.one}, from memory to its result", highlight=False)
    for row in evaluation.rows:
        if row.images_resumed:
            console.print(
                f"{row.name}: {row.images_resumed} {evaluation.kind.plural} by an earlier run", highlight=False
            )


def _cells(row: "Row", metric: str | None) -> tuple[str, ...]:
    latency = row.latency_ms
    return (
        row.name,
        "" if metric is None else f"{row.figures[metric]:.2f}",
        "" if row.difference is None else f"{row.difference:+.3f}",
        "" if row.interval is None else f"{row.interval[0]:+.2f} to {row.interval[1]:+.2f}",
        "" if row.gate is None else f"{row.gate:g}",
        f"{latency['p50']:.1f} / {latency['p90']:.1f}",
        row.verdict,
    )
