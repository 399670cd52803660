"""Rewrite the graph of an ONNX file step by step, and check that it still computes the same."""

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import ExportError, GateError, InputError
from zoo.files.writing import write_whole
from zooport.parser import Parser
from zooport.rewrite_steps import parse_step, show_list
from zooport.terminal import open_console, show_steps
from zooport.writable import check_writable

if TYPE_CHECKING:
    import onnx

    from rewriters.checks.same_numbers import Comparison

EXAMPLES = """examples:
  zooport rewrite --list
  zooport rewrite a.onnx b.onnx --step fold_constants max_bytes=65536 --step drop_identities
  zooport rewrite a.onnx b.onnx --step cast_precision "keep=['Softmax', '/head/*']"
  zooport rewrite a.onnx b.onnx --step set_metadata "props={'version': '1.2'}"

A value is a Python literal, or else text. An existing OUT is replaced; IN is never changed.
Code 3: the graph computes something else, and nothing is written. Code 5: a rewriter refused the graph."""
LINES = 20  # of one step that are printed; -v prints all, and --json has them
STEPS = ("read", "rewrite", "compare", "write")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport rewrite", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("model", metavar="IN", type=Path, nargs="?", help="an ONNX file")
    flags.add_argument("out", metavar="OUT", type=Path, nargs="?", help="the file to write")
    flags.add_argument(
        "--step",
        nargs="+",
        action="append",
        default=[],
        metavar=("NAME", "OPTION=VALUE"),
        help="a rewriter and its options; repeat the flag for more steps, which run in this order",
    )
    flags.add_argument("--list", action="store_true", help="list all rewriters with their options, and exit")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Rewrite, compare, write, print, and give the same as data."""
    console = open_console()
    if options.list:
        return show_list(console)
    steps = [parse_step(arguments) for arguments in options.step]
    check_paths(options)
    with show_steps(console, STEPS) as begin:
        begin("read")
        from rewriters.checks.same_numbers import compare_graphs
        from rewriters.graph_rewriters import GRAPH_REWRITERS, rewrite_graph

        before = read(options.model)
        begin("rewrite")
        after, changes = rewrite_graph(before, steps)
        check(after)
        begin("compare")
        compared = compare_graphs(before, after)
        exact = all(GRAPH_REWRITERS[step["name"]].same_numbers for step in steps)
        if compared.unequal and exact:
            raise GateError(f"{options.model}: the rewritten graph computes something else: {compared.unequal}")
        begin("write")
        write_whole(options.out.resolve(), after.SerializeToString(deterministic=True))
    for step in changes:
        lines = step.changes or ("nothing to do",)
        shown = lines if options.verbose or len(lines) <= LINES else (*lines[:LINES], f"and {len(lines) - LINES} more")
        for line in shown:
            console.print(f"{step.name}: {line}", soft_wrap=True, highlight=False)
    nodes = {"before": count_nodes(before), "after": count_nodes(after)}
    for line in (
        f"nodes: {nodes['before']} before, {nodes['after']} after",
        format_comparison(compared),
        f"{options.out}",
    ):
        console.print(line, soft_wrap=True, highlight=False)
    return {
        "input": str(options.model),
        "output": str(options.out),
        "steps": [{"name": step.name, "changes": list(step.changes)} for step in changes],
        "nodes": nodes,
        "comparison": {
            "same": compared.same,
            "sizes": list(compared.sizes),
            "difference": compared.difference if math.isfinite(compared.difference) else None,
            "unequal": compared.unequal,
            "alike": list(compared.alike),
            "not_run": compared.not_run,
        },
    }


def check_paths(options: argparse.Namespace) -> None:
    """Before the work: is there something to do, and are the files what they have to be?"""
    path, out = options.model, options.out
    if path is None or out is None or not options.step:
        raise InputError("give IN, OUT and at least one --step NAME, or --list; see zooport rewrite --help")
    if not path.is_file():
        raise InputError(f"{path}: {'not a file' if path.exists() else 'no such file'}; give an ONNX file")
    if (out.exists() and not out.is_file()) or not out.absolute().parent.is_dir():
        raise InputError(f"{out}: not a file in an existing folder; give one")
    if out.exists() and out.samefile(path):
        raise InputError(f"{out}: it is the input, and would be lost; give another OUT")
    check_writable(out.absolute().parent, str(out), "give another OUT")


def read(path: Path) -> "onnx.ModelProto":
    """The model. Raises InputError for what is no sound ONNX file that holds all its weights."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_from_string(path.read_bytes())
    except DecodeError as error:
        raise InputError(f"{path}: not an ONNX file, or cut off") from error
    if not (model.ir_version and model.graph.output):
        raise InputError(f"{path}: not an ONNX file, or cut off")
    if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in model.graph.initializer):
        raise InputError(f"{path}: its weights are in another file, which is not supported; save it as one file")
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise InputError(f"{path}: onnx.checker refuses it: {str(error).splitlines()[0]}") from error
    return model


def check(model: "onnx.ModelProto") -> None:
    """Raises ExportError where onnx.checker refuses the result."""
    import onnx

    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(f"onnx.checker refuses the rewritten graph: {str(error).splitlines()[0]}") from error


def count_nodes(model: "onnx.ModelProto") -> int:
    """Nodes of the graph and of all graphs within."""
    from rewriters.onnx_graph.scopes import every_graph

    return sum(len(graph.node) for graph in every_graph(model.graph))


def format_comparison(compared: "Comparison") -> str:
    """What the comparison found, in one line."""
    if compared.not_run:
        return f"not run: {compared.not_run}"
    sizes = " and ".join(compared.sizes)
    caution = f"; all equal on noise, which proves little: {', '.join(compared.alike)}" if compared.alike else ""
    if compared.unequal:
        largest = f"largest difference {compared.difference:.1e}{caution}"
        return f"other numbers, as the steps may give: {compared.unequal}; {largest}"
    return f"same numbers in ONNX Runtime at {sizes}; largest difference {compared.difference:.1e}{caution}"
