"""Find the modules that must stay in fp32 when the others are int8 or fp16, judged by a metric."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from pipeline.base.steps import BeginStep
from pipeline.job.paths_check import check_present
from zoo.errors import InputError
from zoo.progress import Progress
from zooport.parser import Parser, check_counts
from zooport.terminal import LOAD, open_console, show_counts
from zooport.what_if_results import as_data, conclude, show, summary

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.what_if.trying import Trials

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
    check_flags(options)
    console = open_console()
    with show_counts(console, "done") as (step, count), opened_trials(options, console, step, count) as trials:
        judge = trials.judge
        needed = tried_out(options, trials, count)
    tried = list(trials.done.values())
    show(console, options.precision, judge, tried)
    if needed is not None:
        conclude(console, options.config, options.precision, judge, needed)
    return {
        "precision": options.precision,
        "judge": {"name": judge.name, "unit": judge.unit, "images": judge.images, "tolerance": judge.tolerance},
        "reference": judge.reference,
        "trials": [as_data(trial) for trial in tried],
        "needed": None if needed is None else list(needed),
    }


def check_flags(options: argparse.Namespace) -> None:
    """What is known without the config. Raises InputError."""
    check_counts(options, "limit", "depth")
    if options.tolerance is not None and not options.tolerance > 0:
        raise InputError(f"--tolerance {options.tolerance:g}: expected more than 0")
    if options.keep_fp32 and options.depth is not None:
        raise InputError("--depth is for the search, and --keep-fp32 gives the choices; leave one of them out")
    if options.image and options.limit is not None:
        raise InputError("--limit is for the data set, and --image gives the inputs; leave one of them out")
    check_present("calibration image", options.calibration_image)
    check_present("checkpoint", [options.checkpoint])


@contextmanager
def opened_trials(
    options: argparse.Namespace, console: "Console", step: BeginStep, count: Progress
) -> Iterator["Trials"]:
    """The model in fp32 and what judges it. The config is read before torch is imported, which takes seconds."""
    from pipeline.what_if.judge_check import check_judge
    from zoo.config import load_config

    config = load_config(options.config)
    check_judge(options.judge, config, options.image, options.tolerance)
    check_present("image", options.image)
    step(LOAD)
    from pipeline.what_if.fp32_graph import fp32_graph
    from pipeline.what_if.judges import open_judge
    from pipeline.what_if.trying import Trials
    from rewriters.precision import converter

    with ExitStack() as opened:
        graph = opened.enter_context(
            fp32_graph(
                config,
                options.precision,
                images=options.image,
                checkpoint=options.checkpoint,
                calibration=options.calibration_image,
                step=step,
            )
        )
        step("judge PyTorch")
        judge = opened.enter_context(
            open_judge(
                options.judge,
                graph,
                options.precision,
                limit=options.limit or LIMIT,
                given=options.image,
                tolerance=options.tolerance,
                progress=count,
            )
        )
        yield Trials(
            graph,
            converter(options.precision, graph.job.target.backend),
            judge,
            lambda trial: console.print(summary(trial, judge), highlight=False),
        )


def tried_out(options: argparse.Namespace, trials: "Trials", count: Progress) -> Sequence[str] | None:
    """Try the choices of the config and of the flags; without those, search for the modules that are needed in fp32."""
    kept = trials.graph.options.keep_fp32
    choices = [(), *([kept] if kept else []), *options.keep_fp32]
    trials.check(choices)
    for choice in choices:
        trials.try_out(choice)
    return None if options.keep_fp32 else trials.search(options.depth or DEPTH, count)
