"""Declaring symbolic rewriters: errors that say what to fix, and registries that are as before."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.onnx._internal.torchscript_exporter.registration import registry
from torch.onnx.utils import register_custom_op_symbolic, unregister_custom_op_symbolic

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.ops.torchscript_nodes import torchscript_nodes
from rewriters.symbolic import declaration, operators_for, symbolic
from tests.rewriters.symbolic.operator_calls import check_equal, target_of
from zoo.errors import ExportError

WHY: dict[str, Any] = {"reason": "a test", "written_for": "torch 2.15"}


@pytest.fixture(autouse=True)
def registry_of_its_own() -> Iterator[None]:
    saved = list(declaration.SYMBOLIC_REWRITERS)
    yield
    declaration.SYMBOLIC_REWRITERS[:] = saved


def same(b: GraphBuilder, x: str) -> str:
    result: str = b.Identity(x)
    return result


def test_unknown_operator_names_the_nearest() -> None:
    with pytest.raises(ExportError, match='no operator "aten::asinhh"; nearest: "aten::asinh"'):
        symbolic("aten::asinhh", **WHY)(same)


@pytest.mark.parametrize("name", ["asinh", "::asinh", "aten::"])
def test_a_name_without_a_namespace(name: str) -> None:
    with pytest.raises(ExportError, match="torch has no operator"):
        symbolic(name, **WHY)(same)


def test_unknown_overload_names_those_there_are() -> None:
    with pytest.raises(ExportError, match='no overload "aten::sort.stabel"; nearest: "aten::sort.stable"'):
        symbolic("aten::sort.stabel", **WHY)(same)


def test_wrong_arity_shows_what_is_expected() -> None:
    def sort(b: GraphBuilder, x: str, *, descending: bool) -> str:
        return x

    expected = r"takes \(b: .*descending: bool\), expected \(b, self, \*, descending, dim, stable\)"
    with pytest.raises(ExportError, match=expected):
        symbolic("aten::sort.stable", **WHY)(sort)


def test_one_tensor_too_many() -> None:
    def asinh(b: GraphBuilder, x: str, y: str) -> str:
        return x

    with pytest.raises(ExportError, match=r"expected \(b, self\)"):
        symbolic("aten::asinh", **WHY)(asinh)


def test_twice_with_the_same_limits() -> None:
    with pytest.raises(ExportError, match="declared twice"):
        symbolic("aten::asinh", exporter="torchscript", **WHY)(same)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"exporter": "torchscrpt"}, 'no target has it; nearest: "torchscript"'),
        ({"backend": "Tensor RT"}, "no target has it; give a backend's name"),
        ({"opset": (20, 18)}, "expected .lowest, highest."),
        ({"opset": 18}, "expected .lowest, highest."),
        ({"library": "torch vision"}, "expected a requirement"),
    ],
)
def test_limits_that_no_target_can_have(limits: dict[str, Any], said: str) -> None:
    with pytest.raises(ExportError, match=said):
        symbolic("aten::digamma", **limits, **WHY)(same)


def test_a_library_that_is_not_there_is_not_admitted() -> None:
    symbolic("aten::digamma", library="no-such-library-of-ours>=1", **WHY)(same)
    assert "aten::digamma" not in {rewriter.name for rewriter in declaration.symbolic_for(target_of("torchscript"))}


def test_two_operators_whose_nodes_would_have_one_name() -> None:
    with torch.library._scoped_library("zooport_test_names", "FRAGMENT") as library:
        library.define("two_a(Tensor x) -> Tensor")
        library.define("two.a(Tensor x) -> Tensor")
        symbolic("zooport_test_names::two_a", **WHY)(same)
        with pytest.raises(ExportError, match="ZooportTestNamesTwoA, as those of zooport_test_names::two_a are"):
            symbolic("zooport_test_names::two.a", **WHY)(same)


@pytest.mark.parametrize(
    ("translation", "said"),
    [
        (lambda b, x: (x, x), "gives .*, expected the name of its result"),
        (lambda b, x: None, "gives None, expected the name of its result"),
        (lambda b, x: 1 / 0, "fails: ZeroDivisionError"),
        (lambda b, x: b.Sinn(x), 'fails: ONNX has no operator "Sinn"; nearest: "Sin"'),
    ],
    ids=["two results", "none", "raises", "no operator"],
)
def test_a_translation_that_is_wrong(translation: Any, said: str) -> None:
    symbolic("aten::digamma", **WHY)(translation)
    with pytest.raises(ExportError, match=f"the translation of aten::digamma {said}"):
        check_equal(torch.digamma, [torch.rand(3)], target_of("torchscript"))


def test_a_translation_that_gives_its_input_back() -> None:
    declaration.SYMBOLIC_REWRITERS[:] = [one for one in declaration.SYMBOLIC_REWRITERS if one.name != "aten::positive"]
    symbolic("aten::positive", **WHY)(lambda b, x: x)
    check_equal(torch.positive, [torch.rand(3)], target_of("torchscript"))


def test_the_more_specific_wins_and_a_tie_is_an_error() -> None:
    target = target_of("torchscript")
    symbolic("aten::digamma", **WHY)(same)
    symbolic("aten::digamma", exporter="torchscript", **WHY)(same)
    chosen = {rewriter.name: rewriter for rewriter in declaration.symbolic_for(target)}
    assert chosen["aten::digamma"].limits.exporter == "torchscript"
    symbolic("aten::digamma", backend="onnxruntime", **WHY)(same)
    with pytest.raises(ExportError, match="3 are for this target .* none is narrower"):
        declaration.symbolic_for(target)


def contents() -> dict[str, Any]:
    functions = {name: group._functions for name, group in registry._registry.items()}
    return {name: (dict(f._base), dict(f._overrides), dict(f._merged)) for name, f in functions.items()}


@pytest.mark.parametrize("fails", [False, True])
def test_torchs_registry_is_as_before(fails: bool) -> None:
    target = target_of("torchscript")
    check_equal(torch.asinh, [torch.rand(3)], target)  # the first export of a process loads torch's own functions
    before = contents()
    with (
        pytest.raises(ZeroDivisionError) if fails else nullcontext(),
        torchscript_nodes(operators_for(target), target.opset),
    ):
        assert contents() != before
        assert 1 / (not fails)
    assert contents() == before
    assert "torchvision::deform_conv2d" not in registry.all_functions()


def test_what_a_user_had_registered_is_put_back() -> None:
    def own(g: Any, *arguments: Any) -> Any:
        return arguments[0]

    target = target_of("torchscript")
    register_custom_op_symbolic("aten::asinh", own, target.opset)
    try:
        with torchscript_nodes(operators_for(target), target.opset):
            assert registry.get_function_group("aten::asinh").get(target.opset) is not own
        assert registry.get_function_group("aten::asinh").get(target.opset) is own
    finally:
        unregister_custom_op_symbolic("aten::asinh", target.opset)
        registry._registry.pop("aten::asinh")  # torch leaves an empty entry, at which its next export would end


def test_an_argument_that_is_no_constant() -> None:
    operator = operators_for(target_of("dynamo"))["AtenRoll"]
    with pytest.raises(ExportError, match="aten::roll: shifts is computed in the graph.*give the model a plain number"):
        operator.sorted_arguments(["x", [object()], [0]], list, lambda argument, kind: argument)


@pytest.mark.slow
def test_the_first_export_of_a_process_finds_torchs_own_functions() -> None:
    """torch registers most of them at its first export only; a call that is not ours has to reach them all the same."""
    script = (
        "import torch; from tests.rewriters.symbolic.operator_calls import check_equal, target_of\n"
        "x, grid = torch.randn(1, 2, 4, 5), torch.rand(1, 3, 3, 2)\n"
        "sample = torch.nn.functional.grid_sample\n"
        "target = target_of('torchscript', 18)\n"
        "check_equal(lambda x, g: sample(x, g, align_corners=False), [x, grid], target, ours=False)"
    )
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, cwd=root)
