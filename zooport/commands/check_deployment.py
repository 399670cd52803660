"""Run the self-test of a deployment: check whether this machine computes what was proved."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from zoo.errors import GateError, ZooportError
from zooport.parser import Parser, check_counts
from zooport.terminal import write_line

EXAMPLES = """examples:
  zooport check work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32
  zooport check work_dirs/*/*/onnxruntime-int8 --threads 4 --json checked.json

It needs numpy, opencv and onnxruntime only. Code 2: a folder is not a deployment, was changed or has no self-test.
Code 3: an output differs by more than its gate."""


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport check", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("folder", nargs="+", metavar="FOLDER", help="folders that zooport deploy wrote")
    flags.add_argument(
        "--provider", metavar="P", help="cpu, cuda:N or another provider of the runtime; default: as deployed"
    )
    flags.add_argument("--threads", type=int, metavar="N", help="threads of the session; default: as deployed")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Check every folder, a line for each; then raise the worst error, if there was one."""
    check_counts(options, "threads")
    from backends import load

    results: dict[str, Any] = {}
    errors: list[ZooportError] = []
    for folder in options.folder:
        try:
            with load(folder, provider=options.provider, threads=options.threads) as model:
                checked = model.check()
        except ZooportError as error:
            errors.append(error)
            results[folder] = {"exit_code": error.exit_code, "error": str(error), **getattr(error, "data", {})}
            if len(options.folder) > 1:
                write_line(f"{folder}: {error}")
            continue
        results[folder] = {"exit_code": 0, **checked.to_dict()}
        write_line(f"{folder}: {checked.words}")
    if errors:
        raise _of_all(errors, len(options.folder), results)
    return {"deployments": results}


def _of_all(errors: Sequence[ZooportError], count: int, results: Mapping[str, Any]) -> ZooportError:
    """One error for all folders: a missed gate before what kept a folder from being checked."""
    first = max(errors, key=lambda error: isinstance(error, GateError))
    error = first if count == 1 else type(first)(f"{len(errors)} of {count} deployments are not confirmed, see above")
    error.data = {"deployments": results}
    return error
