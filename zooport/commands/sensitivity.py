"""Rank the modules by their harm in int8 or fp16: each alone in that precision, and all others without it."""

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.job.paths_check import check_present
from zooport.parser import Parser, check_counts
from zooport.terminal import LOAD, open_console, show_counts

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.precision import Harm

EXAMPLES = """examples:
  zooport sensitivity configs/segmentation/fcn_r18_digits.py
  zooport sensitivity configs/detection/retinanet_r18-fpn_digits.py --images 16 --depth 3 --json harm.json

The table shows the signal to noise ratio in dB at the outputs of the last layers; less is worse. Name the worst modules
in the config: export=dict(precision=dict(int8=dict(keep_fp32=["backbone.conv1"])))
"head.(itself)" is the computation of head outside its parts; keep_fp32=["head"] includes all of them."""
PRECISIONS = ("int8", "fp16")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport sensitivity", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("config", metavar="CONFIG", help="the name of a shipped config, or a file")
    flags.add_argument("--precision", choices=PRECISIONS, default="int8", metavar="P", help="int8 (default) or fp16")
    flags.add_argument("--images", type=int, default=8, metavar="N", help="number of calibration images (default: 8)")
    flags.add_argument(
        "--depth", type=int, default=2, metavar="N", help="levels of a module's path to rank (default: 2)"
    )
    flags.add_calibration_image()
    flags.add_argument("--checkpoint", metavar="F", help="weights to use instead of the config's")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Measure, print, and give the same as data."""
    check_counts(options, "images", "depth")
    console = open_console()
    check_present("calibration image", options.calibration_image)
    check_present("checkpoint", [options.checkpoint])
    with show_counts(console, "graphs") as (step, count):
        from zoo.config import load_config

        config = load_config(options.config)
        step(LOAD)
        from pipeline.precision import sensitivity
        from pipeline.what_if.fp32_graph import fp32_graph
        from rewriters.precision import converter

        with fp32_graph(
            config,
            options.precision,
            checkpoint=options.checkpoint,
            calibration=options.calibration_image,
            count=options.images,
            step=step,
        ) as graph:
            make = converter(options.precision, graph.job.target.backend)
            whole, rows = sensitivity(
                graph.graph, make, graph.options, graph.feeds, depth=options.depth, progress=count
            )
    show(console, options.precision, whole, rows)
    return {
        "precision": options.precision,
        "all_db": _finite(whole),
        "modules": [
            {
                "module": row.module,
                "layers": row.layers,
                "only_db": _finite(row.only),
                "without_db": _finite(row.without),
            }
            for row in rows
        ],
    }


def show(console: "Console", precision: str, whole: float, rows: Sequence["Harm"]) -> None:
    """A row for each module."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for name in ("module", "layers", f"only it in {precision} (dB)", "all but it (dB)"):
        is_name = name == "module"
        table.add_column(name, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold")
    for row in rows:
        table.add_row(row.module, str(row.layers), _format_decibels(row.only), _format_decibels(row.without))
    console.print(table)
    console.print(f"all in {precision}: {whole:.1f} dB signal to noise; less is worse", highlight=False)


def _format_decibels(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else "no noise"


def _finite(value: float) -> float | None:
    """JSON has no infinity: None, where there is no noise."""
    return value if math.isfinite(value) else None
