"""Write a page about existing deployments: two side by side, or all under a folder. Nothing is run."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import InputError
from zooport.open_page import open_page
from zooport.parser import Parser
from zooport.terminal import open_console

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = """examples:
  zooport report work_dirs/detection/retinanet_r18-fpn_digits/onnxruntime-fp32 \\
      work_dirs/detection/retinanet_r18-fpn_digits/onnxruntime-fp16 --open
  zooport report torch-2.11/detection/yolov5n_digits/onnxruntime-fp32 \\
      torch-2.15/detection/yolov5n_digits/onnxruntime-fp32 --out versions.html --json versions.json
  zooport report --zoo work_dirs

The report of one deployment is report.html in its folder."""
COMPARISON, ZOO = "comparison.html", "zoo.html"


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport report", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("deployments", nargs="*", metavar="DEPLOYMENT", help="two folders that zooport deploy wrote")
    flags.add_argument("--zoo", metavar="FOLDER", help="write one page about all deployments under this folder")
    flags.add_argument("--out", type=Path, metavar="FILE", help=f"default: {COMPARISON} here, {ZOO} in the folder")
    flags.add_argument("--open", action="store_true", help="open the page in a browser")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Write the page, print what is most important of it, and give all of it as data."""
    if options.zoo is not None and options.deployments:
        raise InputError("--zoo and deployments are two pages; give one of them")
    if options.zoo is None and len(options.deployments) != 2:  # noqa: PLR2004 - A and B
        raise InputError(f"got {len(options.deployments)} deployments, expected two, or --zoo FOLDER")
    out = options.out or (Path(options.zoo) / ZOO if options.zoo is not None else Path(COMPARISON))
    if options.out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise InputError(f"{out}: not a file in an existing folder; give one with --out")
    console = open_console()
    content = zoo(console, options.zoo, out) if options.zoo is not None else compared(console, options.deployments, out)
    console.print(f"report: {out}", soft_wrap=True, highlight=False)
    if options.open:
        open_page(console, out)
    return {"report": str(out), **content}


def compared(console: "Console", deployments: Sequence[str], out: Path) -> Mapping[str, Any]:
    """Two deployments."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from pipeline.report.compared import different_rows
    from pipeline.report.comparison_page import write_comparison

    page = write_comparison(deployments[0], deployments[1], out)
    for words in page.summary:
        console.print(words, highlight=False)
    table = Table("", "what", "A", "B", "B to A", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title, row in different_rows(page.groups):
        table.add_row(title, row.name, row.first, row.second, row.change)
    console.print(table)
    return {"deployments": list(deployments), **page.to_dict()}


def zoo(console: "Console", folder: str, out: Path) -> Mapping[str, Any]:
    """All deployments under a folder."""
    from pipeline.report.zoo_page import write_zoo

    rows, faults = write_zoo(folder, out)
    for verdict in dict.fromkeys(row["verdict"] for row in rows):
        console.print(f"{sum(row['verdict'] == verdict for row in rows)} {verdict}", highlight=False)
    for fault in faults:
        console.print(f"could not be read: {fault}", soft_wrap=True, highlight=False)
    return {"deployments": rows, "unreadable": faults}
