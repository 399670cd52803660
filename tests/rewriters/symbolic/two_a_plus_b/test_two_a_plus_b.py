"""The worked example: a C++ extension that computes 2 a + b, exported by both exporters as mydomain::TwoAPlusB."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from rewriters.graph_passes.expand_operators import expand_operators
from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic import declaration, kernels
from rewriters.symbolic.kernels import kernel, reference_evaluator
from rewriters.symbolic.legacy_functions import refusing_untraceable_functions
from tests.exporters import DYNAMO_LATER
from tests.rewriters.symbolic.operator_calls import target_of, written
from zoo.errors import ExportError

NODE = "mydomain::TwoAPlusB"
A, B = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)


@pytest.fixture(autouse=True)
def declarations_of_its_own() -> Iterator[None]:
    saved, saved_kernels = list(declaration.SYMBOLIC_REWRITERS), dict(kernels.KERNELS)

    @kernel(NODE)
    def two_a_plus_b(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(2 * a + b)

    yield
    declaration.SYMBOLIC_REWRITERS[:] = saved
    kernels.KERNELS.clear()
    kernels.KERNELS.update(saved_kernels)


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from torch.utils.cpp_extension import load

    source = Path(__file__).with_name("two_a_plus_b.cpp")
    return load("two_a_plus_b", [str(source)], build_directory=str(tmp_path_factory.mktemp("extension")))


def function_of(compute: Any) -> Any:
    """An autograd.Function around compiled code, as code written for torchscript has it."""

    class TwoAPlusB(torch.autograd.Function):
        @staticmethod
        def forward(_ctx: Any, a: Tensor, b: Tensor) -> Tensor:
            result: Tensor = compute(a, b)
            return result

        @staticmethod
        def symbolic(g: Any, a: Any, b: Any) -> Any:
            return g.op(NODE, a, b).setType(a.type())

    return TwoAPlusB


def check(model: onnx.ModelProto, *, node: bool = True) -> None:
    assert (NODE in [f"{n.domain}::{n.op_type}" for n in model.graph.node]) is node
    onnx.checker.check_model(model)
    names = [value.name for value in model.graph.input]
    (got,) = reference_evaluator(model).run(None, dict(zip(names, (A.numpy(), B.numpy()), strict=True)))
    np.testing.assert_array_equal(got, (2 * A + B).numpy())


@pytest.mark.slow
def test_function_with_symbolic_under_torchscript(extension: Any) -> None:
    function = function_of(extension.two_a_plus_b)
    model = written(function.apply, [A, B], target_of("torchscript"))
    check(model)


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_library_operator_with_both_exporters(exporter: str, extension: Any) -> None:
    check_library_operator(exporter, extension.two_a_plus_b, "zooport_test_extension")


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_library_operator_in_python(exporter: str) -> None:
    check_library_operator(exporter, lambda a, b: 2 * a + b, "zooport_test_python")


def check_library_operator(exporter: str, compute: Any, namespace: str) -> None:
    with torch.library._scoped_library(namespace, "FRAGMENT") as library:
        library.define("two_a_plus_b(Tensor a, Tensor b) -> Tensor")
        library.impl("two_a_plus_b", compute, "CPU")
        library._register_fake("two_a_plus_b", lambda a, b: torch.empty_like(a))

        @declaration.symbolic(f"{namespace}::two_a_plus_b", reason="no standard operator", written_for="this test")
        def translation(b: GraphBuilder, x: str, y: str) -> str:
            result: str = b.node("TwoAPlusB", x, y, domain="mydomain")
            return result

        operator = getattr(torch.ops, namespace).two_a_plus_b
        target = target_of(exporter)
        model = written(operator, [A, B], target)
        expand_operators(model, target)
        check(model)


@pytest.mark.slow
def test_a_forward_of_torchs_operators_is_followed_by_dynamo() -> None:
    function = function_of(lambda a, b: 2 * a + b)
    with refusing_untraceable_functions():
        check(written(function.apply, [A, B], target_of("dynamo")), node=False)


def test_a_failure_in_forward_is_reported() -> None:
    def fails(_a: Tensor, _b: Tensor) -> Tensor:
        raise RuntimeError("on purpose\nand more")

    with refusing_untraceable_functions(), pytest.raises(Exception, match=".") as caught:
        written(function_of(fails).apply, [A, B], target_of("dynamo"))
    cause: BaseException | None = caught.value
    while cause is not None and not isinstance(cause, ExportError):
        cause = cause.__cause__ or cause.__context__
    assert "and fails there (RuntimeError: on purpose); give" in str(cause)


@pytest.mark.slow
def test_compiled_code_in_forward_is_refused_with_the_way_out(extension: Any) -> None:
    function = function_of(extension.two_a_plus_b)
    before = vars(torch.autograd.Function)["apply"]
    with refusing_untraceable_functions(), pytest.raises(Exception, match=".") as caught:
        written(function.apply, [A, B], target_of("dynamo"))
    assert vars(torch.autograd.Function)["apply"] is before
    cause: BaseException | None = caught.value
    while cause is not None and not isinstance(cause, ExportError):
        cause = cause.__cause__ or cause.__context__
    assert "does not call its `symbolic`" in str(cause)
    assert "--exporter torchscript" in str(cause)


def test_a_node_without_a_kernel() -> None:
    kernels.KERNELS.clear()
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20, "mydomain" : 1]>'
        "m (float[2] a, float[2] b) => (float[2] c) { c = mydomain.TwoAPlusB(a, b) }"
    )
    with pytest.raises(ExportError, match="mydomain::TwoAPlusB has no kernel; none is declared"):
        reference_evaluator(model)


@pytest.mark.parametrize("name", ["TwoAPlusB", "::X", "ai.onnx::X", "mydomain::"])
def test_a_kernel_needs_a_domain_of_its_own(name: str) -> None:
    with pytest.raises(ExportError, match='expected "mydomain::OpType"'):
        kernel(name)
