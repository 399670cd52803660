"""Each row of the table: it hits its graph, not the one beside it, and what it says is still so."""

import subprocess
import sys
from pathlib import Path

import onnx
import onnxruntime as ort
import pytest

from backends.registry import backends
from backends.tensorrt.preflight.refused_by_parser import UNKNOWN_OPERATORS
from pipeline.preflight import all_rows, preflight, refuse
from rewriters.graph_rewriters import GRAPH_REWRITERS
from tests.pipeline.preflight.graphs import EXAMPLES, Example, model, target_of
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from zoo.errors import ExportError

ROWS = all_rows()
NAMES = [row.name for row in ROWS]
MEASURED = [row for row in ROWS if "measured" in row.source]
ON_RTX = [row.name for row in MEASURED if "tensorrt-rtx" in row.versions]
ON_ORT = [row.name for row in MEASURED if "onnxruntime" in row.versions]


def hit(example: Example) -> onnx.ModelProto:
    return model(example.hit, example.opset, example.more)


def beside(example: Example) -> onnx.ModelProto:
    return model(example.beside, example.opset, example.more)


def names_found(graph: onnx.ModelProto, example: Example, changes: dict[str, object]) -> set[str]:
    return {finding.row.name for finding in preflight(graph, target_of(example.backend, **changes))}


def test_every_row_has_graphs_a_name_of_its_own_and_a_rewriter_that_exists() -> None:
    assert sorted(EXAMPLES) == sorted(NAMES)
    assert len(set(NAMES)) == len(NAMES)
    for row in ROWS:
        assert set(row.versions) <= set(backends())
        assert (row.action == "rewrite") == bool(row.rewriter)
        assert not row.rewriter or row.rewriter in GRAPH_REWRITERS


@pytest.mark.parametrize("name", NAMES)
def test_it_hits_its_graph_and_not_the_one_beside(name: str) -> None:
    example = EXAMPLES[name]
    assert name in names_found(hit(example), example, example.target)
    changes = example.target if example.target_beside is None else example.target_beside
    assert name not in names_found(beside(example), example, changes)


@pytest.mark.parametrize("name", NAMES)
def test_another_backend_hears_nothing_of_it(name: str) -> None:
    example = EXAMPLES[name]
    row = next(row for row in ROWS if row.name == name)
    for backend in backends():
        found = {finding.row.name for finding in preflight(hit(example), target_of(backend, **example.target))}
        assert (name in found) == (backend in row.versions)


def build(graph: onnx.ModelProto, folder: Path) -> None:
    path = folder / "model.onnx"
    path.write_bytes(graph.SerializeToString())
    rtx_engine(path, 1, 2, 4)


@needs_rtx
@pytest.mark.tensorrt
@pytest.mark.slow
@pytest.mark.parametrize("name", ON_RTX)
def test_tensorrt_rtx_refuses_it_still(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    with pytest.raises(ExportError):  # where it takes the graph, the row is no longer needed
        build(hit(example), tmp_path)
    build(beside(example), tmp_path)


@needs_rtx
@pytest.mark.tensorrt
def test_the_unknown_operators_are_those_that_the_parser_names() -> None:
    code = (
        "import sys, tensorrt_rtx as trt; log = trt.Logger(trt.Logger.ERROR); network = trt.Builder(log)."
        "create_network(0); parser = trt.OnnxParser(network, log); "
        "print(*(name for name in sys.argv[1:] if not parser.supports_operator(name)))"
    )
    names = sorted({schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain})
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    found = set(done.stdout.split()) - {"DeformConv"}  # TensorRT has that one
    assert found == set(UNKNOWN_OPERATORS) & set(names)


@pytest.mark.parametrize("name", ON_ORT)
def test_onnxruntime_refuses_it_still(name: str) -> None:
    example = EXAMPLES[name]
    options = ort.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception, match="ONNXRuntimeError"):  # its classes have no base but Exception
        ort.InferenceSession(hit(example).SerializeToString(), options, providers=["CPUExecutionProvider"])
    ort.InferenceSession(beside(example).SerializeToString(), options, providers=["CPUExecutionProvider"])


def test_a_graph_that_is_taken_gives_nothing() -> None:
    graph = beside(EXAMPLES["nonzero"])
    for backend in backends():
        assert preflight(graph, target_of(backend)) == ()
    assert refuse(()) is None
