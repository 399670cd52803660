"""Compare a model in PyTorch with its graph, module by module, and name the first module that differs."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.job.paths_check import check_present
from zoo.errors import GateError, InputError
from zoo.target import CHOICES, check_choices
from zooport.parser import Parser
from zooport.terminal import LOAD, open_console, show_counts

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.alignment.records import Alignment, Pair
    from zoo.config import ModelConfig
    from zoo.target import Target

EXAMPLES = """examples:
  zooport align configs/detection/faster-rcnn_r18-fpn_digits.py
  zooport align configs/segmentation/fcn_r18_digits.py --exporter torchscript --image street.jpg
  zooport align configs/segmentation/fcn_r18_digits.py --onnx edited.onnx --all
  zooport align configs/segmentation/fcn_r18_digits.py --deployment work_dirs/.../tensorrt-fp16

Code 3: a module is past the threshold, or the outputs miss the gates of parity. Code 4: also if no engine of the
backend can run here."""
SHOWN = 10  # pairs that differ
BEFORE = 3  # pairs before the first of them
WORST = 5  # where none differs


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport align", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("config", metavar="CONFIG", help="the name of a shipped config, or a file")
    flags.add_argument("--checkpoint", metavar="F", help="weights to use instead of the config's")
    flags.add_argument(
        "--deployment", metavar="DIR", help="align the graph of this deployment; default: export one now"
    )
    flags.add_argument(
        "--onnx", metavar="FILE", help="align this graph, exported from the config with the same options"
    )
    flags.add_backend()
    flags.add_argument("--exporter", metavar="E", help="dynamo or torchscript; default: the config's")
    flags.add_argument("--opset", type=int, metavar="V", help="ONNX opset; default: the config's")
    flags.add_argument("--precision", metavar="P", help="fp32 (default), fp16 or int8")
    flags.add_argument("--output-level", metavar="L", help="final (default), decoded or raw")
    flags.add_argument(
        "--image",
        nargs="+",
        action="extend",
        default=[],
        metavar="F",
        help="images to run; default: two of the data set",
    )
    flags.add_argument(
        "--threshold",
        type=float,
        metavar="X",
        help="largest error, relative to a tensor's largest magnitude; see docs/alignment.md",
    )
    flags.add_argument(
        "--by-pieces",
        action="store_true",
        default=None,
        help="bisect with pieces of the graph; always on for backends that fuse",
    )
    flags.add_argument("--all", action="store_true", help="print every pair")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Align, print, and give the same as data."""
    console = open_console()
    with show_counts(console, "tensors") as (begin, count):
        alignment = align(options, begin, count)
    show(console, alignment, every=options.all)
    if not alignment.passed:
        error = GateError(f"{Path(options.config).stem}: {alignment.verdict}")
        error.data = alignment.to_dict()
        raise error
    console.print(alignment.verdict, highlight=False, soft_wrap=True)
    return alignment.to_dict()


def align(options: argparse.Namespace, begin: Any, count: Any) -> "Alignment":
    """The work. torch takes seconds to load, so its import waits until the arguments are known to be good."""
    config, target = plan(options)
    begin(LOAD)
    from pipeline.alignment.aligning import align as compare

    return compare(
        config,
        target,
        options.image,
        checkpoint=options.checkpoint,
        deployment=options.deployment,
        onnx=options.onnx,
        threshold=options.threshold,
        by_pieces=options.by_pieces,
        step=begin,
        progress=count,
    )


def plan(options: argparse.Namespace) -> tuple["ModelConfig", "Target | None"]:
    """The config, and the target of the graph, None for that of a deployment; without torch. Raises InputError."""
    requested = {
        "backend": options.backend,
        "exporter": options.exporter,
        "opset": options.opset,
        "precision": options.precision,
        "level": options.output_level,
    }
    check_choices(**{name: value for name, value in requested.items() if name in CHOICES})
    chosen = [name for name, value in requested.items() if value is not None]
    if options.deployment is not None and chosen:
        raise InputError(f"--deployment with another {chosen[0]}: the deployment has its own; leave one of them out")
    check_present("image", options.image)
    check_present("checkpoint", [options.checkpoint])
    check_present("--deployment", [options.deployment], "folder")
    check_present("--onnx", [options.onnx])
    from pipeline.job.deploy_target import deploy_target
    from zoo.config import load_config

    config = load_config(options.config)
    return config, None if options.deployment is not None else deploy_target(config, **requested)


def show(console: "Console", alignment: "Alignment", *, every: bool) -> None:
    """The pairs that differ, with some before them, or the worst; then what else must be known."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    title, pairs = chosen(alignment, every=every)
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("module", "shape", "max", "mean", "relative", "cosine", "SNR dB", "NaN/Inf", "verdict"):
        right = column in ("max", "mean", "relative", "cosine", "SNR dB", "NaN/Inf")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for pair in pairs:
        table.add_row(*row(pair, culprit=alignment.is_culprit(pair)))
    console.print(table)
    for pair in pairs:
        if pair.note and pair.verdict != "equal":
            console.print(f"{pair.name}: {pair.note}", style="dim", highlight=False)
    if alignment.outputs is not None:
        for failure in alignment.outputs.failures:
            console.print(f"outputs: {failure}", highlight=False)
    if alignment.absent:
        names = ", ".join(list(alignment.absent)[:WORST]) + (" ..." if len(alignment.absent) > WORST else "")
        console.print(f"not compared, {len(alignment.absent)} modules: {names} (--json has the reasons)", style="dim")
    if alignment.changed:
        console.print(
            f"the graph's own outputs change by {alignment.changed:.2g} when others are added", highlight=False
        )
    for note in alignment.notes:
        console.print(note, style="dim", highlight=False)


def chosen(alignment: "Alignment", *, every: bool) -> tuple[str, Sequence["Pair"]]:
    """What the table is called, and the pairs in it, in graph order."""
    pairs, first = alignment.pairs, alignment.first
    if every:
        return f"all {len(pairs)} pairs in graph order", pairs
    if first is not None:
        place = pairs.index(first)
        later = [pair for pair in pairs[place:] if pair.verdict == "differs"]
        left = f", {len(later) - SHOWN} more differ" if len(later) > SHOWN else ""
        return f"around the first module that differs{left}", [*pairs[max(0, place - BEFORE) : place], *later[:SHOWN]]
    known = [pair for pair in pairs if pair.figures is not None]
    worst = sorted(known, key=lambda pair: -pair.figures.relative if pair.figures else 0.0)[:WORST]
    return f"the {len(worst)} largest errors of {len(pairs)} pairs", [pair for pair in known if pair in worst]


def row(pair: "Pair", *, culprit: bool) -> list[str]:
    """The cells of a pair."""
    shape = "x".join(map(str, pair.shape or pair.graph_shape))
    verdict = pair.verdict + (", inputs equal" if culprit else ", inputs differ" if pair.verdict == "differs" else "")
    figures = pair.figures
    if figures is None:
        return [pair.name, shape, "", "", "", "", "", "", verdict]
    cosine = "" if figures.cosine is None else f"{figures.cosine:.6f}"
    snr = "" if figures.snr is None else f"{figures.snr:.1f}"
    odd = f"{sum(figures.nan)}/{sum(figures.infinite)}"
    errors = (f"{error:.2g}" for error in (figures.max_error, figures.mean_error, figures.relative))
    return [pair.name, shape, *errors, cosine, snr, odd, verdict]
