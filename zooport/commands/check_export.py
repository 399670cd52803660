"""Find out why a model is not exported to ONNX, or is exported wrongly, and name the cure."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.errors import ExportError, GateError, InputError, ZooportError
from zoo.target import EXPORTERS, OPSETS, check_choices
from zooport.parser import Parser
from zooport.terminal import LOAD, open_console, show_steps

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.doctor import Finding, Report

EXAMPLES = """examples:
  zooport doctor model.py:Net --input images=float32[N=2,3,H=64,W=96]
  zooport doctor model.py:make --input a=float32[2,8] --input b=int64[2,T=5:9:17] --exporter torchscript
  zooport doctor configs/segmentation/fcn_r18_digits.py

In FILE.py:NAME, NAME is a torch.nn.Module, or a class or function that makes one. A named axis varies: the file is also
tried at the sizes after the first colon, or at one of our choice. The code of FILE.py is run.
Code 0: some way of export is right in all trials; it is named, with the lines that the trials do not decide. Code 3:
files run, but none gives the model's numbers. Code 5: no exporter writes a file that runs."""
LEAST_TIME, USUAL_TIME, MOST_TIME = 1, 300, 86_400  # seconds
MANY = 8  # findings that do no harm
FEW = 3  # lines of the model with the same cause
UNDECIDED = "not decided by these trials; the file holds what the example decided there:"
LONGEST = 160  # characters of what an exporter says


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport doctor", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("subject", metavar="MODULE_OR_CONFIG", help="FILE.py:NAME, or a config")
    flags.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=DTYPE[SIZE,...]",
        help="an input of forward; repeat the flag in forward's order",
    )
    flags.add_argument("--exporter", metavar="E", help="dynamo or torchscript; default: both")
    flags.add_argument("--opset", type=int, metavar="V", help="ONNX opset; default: the config's, or 20")
    flags.add_argument(
        "--timeout", type=float, default=USUAL_TIME, metavar="S", help="seconds for each export (default: 300)"
    )
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Examine, print, and give the same as data."""
    check_choices(exporter=options.exporter)
    if options.opset is not None and options.opset not in OPSETS:
        raise InputError(f"--opset {options.opset}: expected {OPSETS.start} to {OPSETS.stop - 1}")
    if not LEAST_TIME <= options.timeout <= MOST_TIME:
        raise InputError(f"--timeout {options.timeout}: expected seconds, {LEAST_TIME} to {MOST_TIME}")
    console = open_console()
    exporters = (options.exporter,) if options.exporter else EXPORTERS
    names = [LOAD, "eager PyTorch", *exporters, *(f"{name}, with rewriters" for name in exporters)]
    with show_steps(console, names) as begin:
        begin(names[0])
        from pipeline.doctor import Subject, examine

        subject = Subject(options.subject, tuple(options.input))
        report = examine(subject, exporters=exporters, opset=options.opset, seconds=options.timeout, begin=begin)
    show(console, report)
    if report.exit_code:
        kind = GateError if report.exit_code == GateError.exit_code else ExportError
        error: ZooportError = kind(f"{options.subject}: no exporter writes a right file; the findings say why")
        error.data = report.data
        raise error
    return report.data


def show(console: "Console", report: "Report") -> None:
    """A line for each way, the findings that matter, what is undecided, the others in short, and what to do."""
    from pipeline.doctor.report import verdict

    width = max(len(str(attempt.way)) for attempt in report.attempts) + 2
    lines = [f"{attempt.way!s:{width}}{verdict(attempt, report.open_in(attempt))}" for attempt in report.attempts]
    undecided = [finding for finding in report.findings if report.undecided(finding)]
    matter = [f for f in report.findings if f not in undecided and (f.cause.slow or report.harmful(f))]
    others = [finding for finding in report.findings if finding not in (*matter, *undecided)]
    lines += all_described(matter)
    lines += ["", UNDECIDED, *all_described(undecided)] if undecided else []
    lines += ["", "also seen, and harmless in these trials:"] if others else []
    lines += [f"  {finding.cause.name}  {finding.place or finding.why}" for finding in others[:MANY]]
    lines += [f"  and {len(others) - MANY} more, see --json"] if len(others) > MANY else []
    if report.best is not None:
        by = f", that is {', '.join(report.best.fired)}" if report.best.fired else ""
        care = "; but see what is not decided by these trials" if report.open_in(report.best) else ""
        lines += ["", f"export it by {report.best.way}{by}{care}"]
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def all_described(findings: "Sequence[Finding]") -> list[str]:
    """Those of one cause and cure together, each after an empty line."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.cause.name, finding.cure), []).append(finding)
    return [line for group in groups.values() for line in ("", *described(group))]


def described(group: "Sequence[Finding]") -> list[str]:
    """Of one cause: the lines of the model, operators, what was said, and the cure."""
    first = group[0]
    ways = dict.fromkeys(str(way) for finding in group for way in finding.ways)
    silent = "; no error says so" if first.cause.silent else ""
    places = list(dict.fromkeys(f"{one.place}: {one.place.code}" for one in group if one.place))
    more = [("", f"and {len(places) - FEW} more, see --json")] if len(places) > FEW else []
    rows = [
        *(("line", place) for place in places[:FEW]),
        *more,
        *(("operator", name) for name in dict.fromkeys(one.operator for one in group) if name),
        ("what", first.cause.what),
        ("seen", first.why if len(first.why) <= LONGEST else f"{first.why[:LONGEST]} ..."),
        ("cure", first.cure),
    ]
    head = f"{first.cause.name} ({'; '.join(ways) or 'seen in PyTorch'}{silent})"
    return [head, *(f"  {name:10}{text}" for name, text in rows)]
