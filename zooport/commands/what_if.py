"""Find the modules that must stay in fp32 when the others are int8 or fp16, judged by a metric."""

import argparse
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.job.paths_check import check_present
from zoo.errors import InputError
from zooport.parser import Parser, check_counts
from zooport.terminal import open_console, show_counts

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.what_if.judges import Judge
    from pipeline.what_if.trying import Trial

EXAMPLES = """examples:
  zooport what-if configs/detection/yolov5n_digits.py
  zooport what-if configs/detection/yolov5n_digits.py --keep-fp32 model.24 --keep-fp32 model.0 model.24
  zooport what-if configs/detection/retinanet_r18-fpn_digits.py --precision fp16 --judge matched \\
      --tolerance 0.5 --image street.jpg park.jpg

Without --keep-fp32, the modules that must stay in fp32 are searched: they are ranked by harm (zooport sensitivity),
bisected, and the remaining ones are left out one by one. --judge metric uses the config's metric, on the first images
of its gate split. --judge matched uses the agreement with PyTorch, in points of 100, and needs no ground truth.

Code 3: the model in fp32 misses its gates."""
PRECISIONS = ("int8", "fp16")
DTYPES = {"int8": "int8", "fp16": "float16"}
JUDGES = ("metric", "matched")
LIMIT, DEPTH = 64, 2


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport what-if", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("config", metavar="CONFIG", help="the name of a shipped config, or a file")
    flags.add_argument("--precision", choices=PRECISIONS, default="int8", metavar="P", help="int8 (default) or fp16")
    flags.add_argument(
        "--keep-fp32",
        nargs="+",
        action="append",
        default=[],
        metavar="MODULE",
        help="PyTorch modules that stay in fp32, * and ? allowed; repeat the flag for other choices; default: search",
    )
    flags.add_argument("--judge", choices=JUDGES, default="metric", metavar="J", help="metric (default) or matched")
    flags.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        help="largest difference from PyTorch, in points or dB; default: the gate of the precision",
    )
    flags.add_argument("--limit", type=int, metavar="N", help=f"number of images to judge on (default: {LIMIT})")
    flags.add_argument("--depth", type=int, metavar="N", help=f"levels of a module's path to rank (default: {DEPTH})")
    flags.add_argument(
        "--image", nargs="+", action="extend", default=[], metavar="F", help="images for --judge matched"
    )
    flags.add_calibration_image()
    flags.add_argument("--checkpoint", metavar="F", help="weights to use instead of the config's")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Try, print, and give the same as data."""
    check_counts(options, "limit", "depth")
    if options.tolerance is not None and not options.tolerance > 0:
        raise InputError(f"--tolerance {options.tolerance:g}: expected more than 0")
    if options.keep_fp32 and options.depth is not None:
        raise InputError("--depth is for the search, and --keep-fp32 gives the choices; leave one of them out")
    if options.image and options.limit is not None:
        raise InputError("--limit is for the data set, and --image gives the inputs; leave one of them out")
    check_present("calibration image", options.calibration_image)
    check_present("checkpoint", [options.checkpoint])
    console = open_console()
    with show_counts(console, "done") as (step, count):
        from pipeline.what_if.judge_check import check_judge
        from zoo.config import load_config

        config = load_config(options.config)
        check_judge(options.judge, config, options.image, options.tolerance)
        check_present("image", options.image)
        step("load PyTorch")
        from pipeline.what_if.fp32_graph import fp32_graph
        from pipeline.what_if.judges import open_judge
        from pipeline.what_if.trying import Trials
        from rewriters.precision import converter

        with fp32_graph(
            config,
            options.precision,
            images=options.image,
            checkpoint=options.checkpoint,
            calibration=options.calibration_image,
            step=step,
        ) as graph:
            step("judge PyTorch")
            with open_judge(
                options.judge,
                graph,
                options.precision,
                limit=options.limit or LIMIT,
                given=options.image,
                tolerance=options.tolerance,
                progress=count,
            ) as judge:
                trials = Trials(
                    graph,
                    converter(options.precision, graph.job.target.backend),
                    judge,
                    lambda trial: console.print(summary(trial, judge), highlight=False),
                )
                choices = [(), *([graph.options.keep_fp32] if graph.options.keep_fp32 else []), *options.keep_fp32]
                trials.check(choices)
                for choice in choices:
                    trials.try_out(choice)
                needed = None if options.keep_fp32 else trials.search(options.depth or DEPTH, count)
    tried = list(trials.done.values())
    show(console, options.precision, judge, tried)
    if needed is not None:
        conclude(console, options, judge, needed)
    return {
        "precision": options.precision,
        "judge": {"name": judge.name, "unit": judge.unit, "images": judge.images, "tolerance": judge.tolerance},
        "reference": judge.reference,
        "trials": [
            {
                "keep_fp32": list(trial.kept),
                "layers": dict(trial.layers),
                "value": finite(trial.value),
                "difference": finite(trial.difference),
                "within": trial.good,
            }
            for trial in tried
        ],
        "needed": None if needed is None else list(needed),
    }


def finite(value: float) -> float | None:
    """JSON has no number for what is not finite."""
    return value if isfinite(value) else None


def summary(trial: "Trial", judge: "Judge") -> str:
    """A line while the work goes on."""
    return f"in fp32 {', '.join(trial.kept) or 'nothing'}: {trial.difference:+.2f} {judge.unit}"


def show(console: "Console", precision: str, judge: "Judge", trials: Sequence["Trial"]) -> None:
    """A row for each choice."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    title = f"{judge.name} on {judge.images} {judge.kind.plural}; PyTorch has {judge.reference:.2f} {judge.unit}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("kept in fp32", overflow="fold")
    for name in (f"layers in {precision}", judge.unit, "to PyTorch", f"within {judge.tolerance:g}"):
        table.add_column(name, justify="right", no_wrap=True)
    for trial in trials:
        low, whole = trial.layers.get(DTYPES[precision], 0), sum(trial.layers.values())
        words = ", ".join(trial.kept) or "nothing"
        good = "yes" if trial.good else "no"
        table.add_row(words, f"{low} of {whole}", f"{trial.value:.2f}", f"{trial.difference:+.2f}", good)
    console.print(table)


def conclude(console: "Console", options: argparse.Namespace, judge: "Judge", needed: Sequence[str]) -> None:
    """The list, as the config takes it."""
    words = ", ".join(needed) or "nothing"
    console.print(f"needed in fp32 for {judge.tolerance:g} {judge.unit}: {words}", highlight=False)
    if needed:
        names = ", ".join(f'"{name}"' for name in needed)
        console.print(
            f"{Path(options.config).name}: export=dict(precision=dict({options.precision}=dict(keep_fp32=[{names}])))",
            highlight=False,
            soft_wrap=True,
        )
    console.print(f"zooport deploy judges on all {judge.kind.plural}, and decides", style="dim", highlight=False)
