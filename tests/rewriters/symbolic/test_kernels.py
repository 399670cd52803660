"""Declaring kernels, and running them in onnx's ReferenceEvaluator."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest

from rewriters.onnx_graph.custom_nodes import custom_nodes
from rewriters.symbolic import kernels
from rewriters.symbolic.kernels import kernel, reference_evaluator
from zoo.errors import ExportError

HEADER = '<ir_version: 10, opset_import: ["" : 20, "mydomain" : 1]>'
BRANCH = onnx.parser.parse_model(
    HEADER + "m (bool c, float[2] x) => (float[2] y) { y = If (c) <"
    "then_branch = t () => (float[2] a) { a = mydomain.Twice(x) },"
    "else_branch = e () => (float[2] b) { b = Identity(x) }> }"
)
X = np.array([1.0, 2.0], np.float32)


@pytest.fixture(autouse=True)
def kernels_of_its_own() -> Iterator[None]:
    saved = dict(kernels.KERNELS)
    yield
    kernels.KERNELS.clear()
    kernels.KERNELS.update(saved)


def twice(x: Any) -> Any:
    return 2 * x


def test_a_node_in_a_branch() -> None:
    assert [node.op_type for node in custom_nodes(BRANCH)] == ["Twice"]
    kernel("mydomain::Twice")(twice)
    for condition, factor in ((True, 2), (False, 1)):
        (got,) = reference_evaluator(BRANCH).run(None, {"c": np.array(condition), "x": X})
        np.testing.assert_array_equal(got, factor * X)


@pytest.mark.parametrize("name", ["my domain::Twice", "::Twice", "Twice", "my/domain::Twice"])
def test_a_bad_name(name: str) -> None:
    with pytest.raises(ExportError, match='is not an operator of a custom domain; expected "mydomain::OpType"'):
        kernel(name)(twice)


def test_two_functions_of_one_name() -> None:
    kernel("mydomain::Twice")(twice)
    kernel("mydomain::Twice")(twice)
    with pytest.raises(ExportError, match="mydomain::Twice: declared twice, in .*twice and .*lambda"):
        kernel("mydomain::Twice")(lambda x: x + x)


def test_two_results() -> None:
    kernel("mydomain::Twice")(lambda x: (x, x))
    with pytest.raises(ExportError, match="kernel of mydomain::Twice gives a tuple, expected one array"):
        reference_evaluator(BRANCH).run(None, {"c": np.array(True), "x": X})
