"""Comparing two graphs: sizes, what counts as other numbers, and what cannot be run."""

import pytest

from rewriters.checks.same_numbers import compare_graphs
from tests.rewriters.graph_rewriters.graphs import model
from zoo.errors import ExportError


def relu(op: str = "Relu", shape: str = "batch, 3") -> str:
    return f"g (float[{shape}] x) => (float[{shape}] y) {{ y = {op}(x) }}"


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [("batch, 3", ("batch=1", "batch=3")), ("2, 3", ("its fixed shapes",)), ("n, ?", ("n=1 x[1]=64", "n=3 x[1]=96"))],
)
def test_sizes(shape: str, sizes: tuple[str, ...]) -> None:
    compared = compare_graphs(model(relu(shape=shape)), model(relu(shape=shape)))
    assert (compared.same, compared.sizes, compared.difference) == (True, sizes, 0.0)


def test_sizes_at_which_the_first_does_not_run() -> None:
    """It divides an axis by seven."""
    graph = model(
        "g (float[n, w] x) => (float[a, b, c] y) <int64[3] to = {0, 7, -1}> { y = Reshape(x, to) }",
    )
    assert compare_graphs(graph, graph).sizes == ("n=1 w=224",)


def test_other_numbers() -> None:
    compared = compare_graphs(model(relu()), model(relu("Elu")))
    assert not compared.same
    assert compared.unequal.startswith("output y differs by ")
    assert compared.unequal.endswith(" of its largest number at batch=1")


def test_what_is_no_number_in_the_second_alone() -> None:
    compared = compare_graphs(model(relu("Abs")), model("g (float[batch, 3] x) => (float[batch, 3] y) "
                                                       "{ s = Sqrt(x)  y = Mul(s, s) }"))  # fmt: skip
    assert not compared.same


def test_other_whole_numbers() -> None:
    one, two = (model(f"g (int64[n] x) => (int64[n] y) {{ y = {op}(x) }}") for op in ("Neg", "Sign"))
    assert compare_graphs(one, two).unequal == "output y differs in shape, dtype or integers at n=1"


def test_equal_nans_and_outputs_that_prove_little() -> None:
    graph = model("g (float[n, 3] x) => (float[n, 3] y) { a = Sub(x, x)  y = Div(a, a) }")
    assert compare_graphs(graph, graph).same
    graph = model("g (float[n, 3] x) => (float[n, 3] y) { y = Sub(x, x) }")
    assert compare_graphs(graph, graph).alike == ("y",)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (relu(), relu(shape="n, 3"), "its inputs or outputs changed"),
        (relu("my.A"), relu("my.A"), "custom nodes my::A"),
        (relu(), relu("my.A"), "custom nodes my::A"),
        (relu().replace("float", "string"), relu().replace("float", "string"), "input x is not a numeric tensor"),
    ],
)
def test_what_is_not_run(before: str, after: str, why: str) -> None:
    compared = compare_graphs(*(model(text, more=', "my" : 1') for text in (before, after)))
    assert compared.not_run.startswith(why)
    assert not compared.same


def test_only_the_second_does_not_run() -> None:
    second = model("g (float[batch, 3] x) => (float[batch, 3] y) <int64[1] to = {7}> { y = Reshape(x, to) }")
    with pytest.raises(ExportError, match="ONNX Runtime .* refuses"):
        compare_graphs(model(relu()), second)
