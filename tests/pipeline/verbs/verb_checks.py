"""What verbs of the command line do with a detector of any task, in the folder of its config."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.tools.conftest import Run, in_this_process
from zoo.manifest import Manifest

MATRIX = """models: [{config}]
backends: [onnxruntime]
precisions: [fp32]
exporters: [torchscript]
limit: 2
timeout_seconds: 3600
"""
STORED = {"fp16": "float16", "int8": "int8"}
Verb = Callable[..., Run]


def verb_in(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    """verb("evaluate", ...) in the folder."""
    monkeypatch.chdir(folder)

    def run(name: str, *arguments: object) -> Run:
        return in_this_process(name, capsys)([str(argument) for argument in arguments])

    return run


def check_matrix(verb: Verb, config: Path, out: Path) -> None:
    """Two inputs of a matrix of one cell are evaluated, and it passes."""
    (out / "one.yaml").write_text(MATRIX.format(config=config), encoding="utf-8")
    done = verb("regression", out / "one.yaml", "--work-dir", out / "cells", "--json", out / "cells.json")
    assert done.code == 0, done.err
    (cell,) = json.loads((out / "cells.json").read_text(encoding="utf-8"))["cells"]
    assert cell["state"] == "passed"
    assert cell["measured"]["images"] == 2


def check_self_test(verb: Verb, name: str) -> None:
    """The deployment computes here what was proved."""
    done = verb("check", name)
    assert done.code == 0, done.err
    assert name in done.out


def check_comparison(verb: Verb, name: str, out: Path) -> None:
    """A page shows a deployment beside its copy, with drawings of both."""
    shutil.copytree(name, out / "other")
    done = verb("report", name, out / "other", "--out", out / "both.html")
    assert done.code == 0, done.err
    page = (out / "both.html").read_text(encoding="utf-8")
    assert name in page
    assert page.count("data:image/") >= 2


def check_lower_precision(verb: Verb, config: Path, precision: str, example: Path, out: Path) -> str:
    """A deployment whose weights are stored in it finds something. Returns what the deploy printed."""
    printed = done = verb("deploy", config, "--precision", precision, "--work-dir", out / "work")
    assert done.code == 0, done.err
    (place,) = (out / "work").glob(f"*/{config.stem}/onnxruntime-{precision}*")
    assert (Manifest.read(place).precision or {})["nodes"]["stored"][STORED[precision]] > 10
    done = verb("predict", place, example, "--out", out / "results")
    assert done.code == 0, done.err
    objects = json.loads((out / "results" / f"{example.stem}.json").read_text(encoding="utf-8"))
    assert objects
    assert np.isfinite([entry["score"] for entry in objects]).all()
    return printed.out


def check_sensitivity(verb: Verb, config: str, parts: set[str], out: Path) -> None:
    """Modules of these parts of the model are ranked."""
    done = verb("sensitivity", config, "--images", 2, "--depth", 1, "--json", out / "harm.json")
    assert done.code == 0, done.err
    modules = [row["module"] for row in json.loads((out / "harm.json").read_text(encoding="utf-8"))["modules"]]
    assert {name.partition(".")[0] for name in modules} >= parts


def check_what_if(verb: Verb, config: str, out: Path) -> str:
    """All in int8, and all but the head, are judged on two inputs. Returns what is printed."""
    done = verb(
        *("what-if", config, "--keep-fp32", "head", "--limit", 2, "--tolerance", 100),
        *("--json", out / "choices.json"),
    )
    assert done.code == 0, done.err
    content = json.loads((out / "choices.json").read_text(encoding="utf-8"))
    assert content["judge"]["images"] == 2
    assert [trial["keep_fp32"] for trial in content["trials"]] == [[], ["head"]]
    return done.out
