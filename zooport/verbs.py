"""The verbs of the command line, and how one is run. A verb's module has `parser()` and `run(options)`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from zoo.errors import nearest
from zoo.printable import printable
from zooport.exit_codes import GOOD, USER_ERROR, format_exit_codes

COMMANDS = "zooport.commands"
DISTRIBUTION = "zooport"


@dataclass(frozen=True)
class Verb:
    """``module``: its name in zooport.commands. ``summary``: what `zooport --help` says; it imports no verb."""

    module: str
    summary: str


VERBS = {
    "deploy": Verb("deploy", "export a model, build it for a backend, prove it and publish it"),
    "evaluate": Verb("evaluate", "measure whether the metric drops when the deployment runs the test set"),
    "predict": Verb("predict", "run a deployment on images, folders, videos and cameras"),
    "check": Verb("check_deployment", "run the self-test of a deployment on this machine"),
    "benchmark": Verb("benchmark", "measure how long deployments take, beside PyTorch or one another"),
    "triton": Verb("triton_repository", "write a model repository for NVIDIA's Triton Inference Server"),
    "align": Verb("align", "name the first module in which a model and its graph differ"),
    "report": Verb("report", "write a page about two deployments, or about all under a folder"),
    "list": Verb("list_models", "list the models of the zoo, with their measured metrics"),
    "init": Verb("init", "write a config for a model, or for data, of your own"),
    "train": Verb("train", "train a model by the recipe in its config"),
    "doctor": Verb("check_export", "find out why a model does not export, and how to fix it"),
    "rewrite": Verb("rewrite_graph", "rewrite the graph of an ONNX file, and compare its numbers"),
    "what-if": Verb("what_if", "find the modules that must stay in fp32"),
    "sensitivity": Verb("sensitivity", "rank the modules by their harm in int8 or fp16"),
    "regression": Verb("regression", "deploy, prove and evaluate a matrix of models"),
    "completion": Verb("completion", "print the script for Tab completion in bash, zsh or fish"),
}


def run_verb(arguments: Sequence[str]) -> int:
    """Runs `VERB ARGUMENT...`; the exit code."""
    first, *others = arguments or ("--help",)
    if first in ("-h", "--help"):
        print(_overview())
        return GOOD
    if first == "--version":
        print(_version())
        return GOOD
    if first not in VERBS:
        what = "flag" if first.startswith("-") else "command"
        words = nearest(first, ("--help", "--version") if what == "flag" else VERBS)
        print(printable(f"error: unknown {what} {first}; {words}; see zooport --help"), file=sys.stderr)
        return USER_ERROR
    from zooport.running import run_tool

    module = verb_module(VERBS[first])
    return run_tool(module.parser(), module.run, others)


def verb_module(verb: Verb) -> ModuleType:
    """The module that runs a verb."""
    return import_module(f"{COMMANDS}.{verb.module}")


def _overview() -> str:
    width = max(map(len, VERBS)) + 2
    return "\n".join(
        [
            "usage: zooport COMMAND ...",
            "",
            "Deploys vision models, and proves that each deployment is still the same model.",
            "",
            "commands:",
            *(f"  {name:{width}}{verb.summary}" for name, verb in VERBS.items()),
            "",
            "zooport COMMAND --help shows its flags, with examples; zooport --version shows the version.",
            "",
            format_exit_codes(),
        ]
    )


def _version() -> str:
    try:
        return f"{DISTRIBUTION} {version(DISTRIBUTION)}"
    except PackageNotFoundError:
        return f"{DISTRIBUTION}, a checkout that is not installed"
