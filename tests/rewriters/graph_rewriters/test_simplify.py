"""onnxslim: proved, refused where that cannot be, and everything else as it was."""

import logging
import sys
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.rewriters.graph_rewriters.graphs import model, ops, rewritten
from zoo.errors import BackendUnavailableError, ExportError

GRAPH = """g (float[batch, 3, h, w] x) => (float[batch, 2, h, w] y) <float[batch, 2, h, w] c> {
    i = Identity(x)  c = Conv<pads = [1, 1, 1, 1]>(i, weight)
    n = BatchNormalization(c, one, zero, zero, one)  y = Relu(n) }"""


def conv() -> onnx.ModelProto:
    before = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20], producer_name: "made here"> {GRAPH}')
    constants = {"weight": np.ones((2, 3, 3, 3)), "one": np.full(2, 1.5), "zero": np.zeros(2)}
    for name, array in constants.items():
        before.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    before.metadata_props.add(key="task", value="detect")
    before.graph.node[3].metadata_props.add(key="namespace", value="head")
    return before


def test_fused_and_all_else_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    handlers = list(logging.getLogger("onnxslim").handlers)
    after, (change,) = rewritten(conv(), "simplify")
    assert ops(after) == ["Conv", "Relu"]
    assert change.startswith("4 nodes are 2 now, ")
    assert after.metadata_props[0].value == "detect"
    assert after.graph.node[1].metadata_props[0].value == "head"
    assert logging.getLogger("onnxslim").handlers == handlers
    assert capfd.readouterr() == ("", "")


def test_nothing_to_do() -> None:
    assert rewritten(model("g (float[n] x) => (float[n] y) { y = Relu(x) }"), "simplify")[1] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "g (float[n] x) => (float[n] y) { a = Identity(x)  y = my.Plugin(a) }",
            "custom nodes my::Plugin: ONNX Runtime",
        ),
        ("g (float[n] x, float[1] d = {1}) => (float[n] y) { y = Add(x, d) }", "input d has a default value"),
        ("g (string[n] x) => (string[n] y) { a = Identity(x)  y = Identity(a) }", "input x is not a numeric tensor"),
    ],
)
def test_refusals(text: str, words: str) -> None:
    with pytest.raises(ExportError, match=words):
        rewritten(model(text, more=', "my" : 1'), "simplify")


def test_another_result_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(given: onnx.ModelProto, **options: Any) -> onnx.ModelProto:
        given.graph.node[-1].op_type = "Neg"
        return given

    monkeypatch.setattr("onnxslim.slim", wrong)
    with pytest.raises(
        ExportError, match="not proved to compute the same: output y differs by .* at batch=1 h=64 w=64"
    ):
        rewritten(conv(), "simplify")


def test_a_fault_of_onnxslim(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(given: onnx.ModelProto, **options: Any) -> onnx.ModelProto:
        raise KeyError("c")

    monkeypatch.setattr("onnxslim.slim", broken)
    with pytest.raises(ExportError, match="onnxslim refuses the graph: KeyError: 'c'"):
        rewritten(conv(), "simplify")


def test_without_onnxslim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxslim", None)
    with pytest.raises(BackendUnavailableError, match=r"simplify needs onnxslim: install zooport\[export\]"):
        rewritten(conv(), "simplify")
