"""No module outside a backend's folder knows it by name: what is asked of a backend, its object answers."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.registry import backends

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {path.parent.name for path in ROOT.glob("backends/*/backend.py")}
NAMES = sorted(FOLDERS | set(backends()))
SMP = r"segmentation[-_]models[-_]"  # a library's name that ends as a backend's
NAME = re.compile(rf"(?<![a-z0-9])(?<!{SMP})({'|'.join(map(re.escape, NAMES))})(?![a-z0-9])")
SOURCES = [
    path
    for package in ("zoo", "rewriters", "backends", "pipeline", "tools", "zooport")
    for path in sorted((ROOT / package).rglob("*.py"))
    if not (path.parts[len(ROOT.parts)] == "backends" and path.parts[len(ROOT.parts) + 1] in FOLDERS)
]
PAGE = re.compile(r"docs/\S+\.md")  # a page of the documentation may be about one
CHECKER = "the export's own checker: every file must load in ONNX Runtime"
QUANTISER = "the quantiser is a part of the package onnxruntime"
EXTENSIONS = "the library onnxruntime-extensions, which runs custom nodes for checks"
LAUNCHER = "the launcher of torchrun is called pytorch, as mmengine calls it"
REFERENCE = "the unpatched model in PyTorch is what all backends are compared with"
ALLOWED = {
    "zoo/codebases/mmseg/parts/resnet.py": "mmsegmentation calls a style of its ResNets pytorch",
    "zoo/own_model/folder.py": "transformers calls its file of pickled weights pytorch_model.bin",
    "zoo/target.py": "the default and the reference are named here, and here alone",
    "rewriters/onnx_graph/graph_outputs.py": CHECKER,
    "rewriters/precision/int8.py": QUANTISER,
    "rewriters/precision/value_ranges.py": QUANTISER,
    "rewriters/symbolic/extensions.py": EXTENSIONS,
    "rewriters/symbolic/extensions_process.py": EXTENSIONS,
    "pipeline/baselines/plain_export.py": "a file that torch exports by itself runs in ONNX Runtime",
    "pipeline/doctor/attempt.py": f"a stage of the export's check in its record; {CHECKER}",
    "pipeline/doctor/report.py": f"a stage of the export's check in its record; {CHECKER}",
    "pipeline/evaluation/arguments.py": LAUNCHER,
    "pipeline/evaluation/processes.py": LAUNCHER,
    "pipeline/evaluation/reference.py": REFERENCE,
    "pipeline/parity/graph_parity.py": REFERENCE,
    "zooport/running.py": "what installs a Python module that is missing; onnxruntime is a core dependency",
    "zooport/commands/benchmark.py": REFERENCE,
    "zooport/commands/evaluate.py": LAUNCHER,
}


def words(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Identifiers, imports and texts, with their lines; no docstrings, and no examples of a tool's help."""
    nodes = list(ast.walk(tree))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    docs |= {
        id(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EXAMPLES"
    }
    for node in nodes:
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docs:
                yield line, text
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.alias(name=text) | ast.arg(arg=text):
                yield line, text.lower()
            case ast.FunctionDef(name=text) | ast.ClassDef(name=text):
                yield line, text.lower()
            case ast.ImportFrom(module=str(text)):
                yield line, text


def named(source: str) -> list[str]:
    found = []
    for line, text in words(ast.parse(source)):
        if (name := NAME.search(PAGE.sub("", text))) is not None:
            found.append(f"line {line}: {name[0]}")
    return found


def test_a_backend_is_named_in_its_folder_alone() -> None:
    """What is asked of a backend its object answers, see backends.backend."""
    naming = {path.relative_to(ROOT).as_posix(): named(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: lines for path, lines in naming.items() if lines and path not in ALLOWED} == {}
    assert sorted(path for path in ALLOWED if not naming[path]) == [], "they name none: take them off the list"


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('if target.backend == "tensorrt":\n    pass', 1),
        ("from backends.onnxruntime.runner import OnnxRuntimeRunner", 1),
        ("import tensorrt_rtx", 1),
        ("def onnxruntime_opener(path):\n    return path", 1),
        ('raise InputError("give --backend tensorrt-rtx")', 1),
        ("TENSORRT = 1", 1),
        ('"""A module about onnxruntime."""', 0),
        ('raise InputError("TensorRT takes no such thing")', 0),  # prose may speak of a product
        ("get_backend(target.backend).files", 0),
    ],
)
def test_the_walk_sees_a_name(source: str, count: int) -> None:
    assert len(named(source)) == count
