"""Elementwise functions: torch's numbers, in both float dtypes, with both exporters where both need them."""

import pytest
import torch

from tests.exporters import DYNAMO_LATER
from tests.rewriters.symbolic.operator_calls import check_equal, target_of

RANGES = {
    "asinh": (-20, 20),
    "acosh": (1, 20),
    "atanh": (-0.99, 0.99),
    "sinh": (-4, 4),
    "cosh": (-4, 4),
    "sgn": (-2, 2),
    "positive": (-2, 2),
    "expm1": (-2, 2),
    "exp2": (-3, 3),
    "erfc": (-3, 3),
    "trunc": (-3, 3),
    "frac": (-3, 3),
    "sinc": (-3, 3),
    "rad2deg": (-3, 3),
    "deg2rad": (-90, 90),
    "signbit": (-2, 2),
}
OF_TWO = ("hypot", "copysign", "logaddexp", "logaddexp2", "xlogy", "fmax", "fmin", "heaviside")
NEITHER = ("hypot", "copysign", "fmax", "fmin")  # dynamo has none of them


@pytest.mark.parametrize("name", RANGES)
def test_of_one_tensor(name: str) -> None:
    low, high = RANGES[name]
    x = torch.rand(3, 17, generator=torch.Generator().manual_seed(0)) * (high - low) + low
    x[0, 0] = max(low, 0.0)
    check_equal(getattr(torch, name), [x], target_of("torchscript"))


@pytest.mark.parametrize(
    ("exporter", "name"),
    [
        *(("torchscript", name) for name in OF_TWO),
        *(pytest.param("dynamo", name, marks=pytest.mark.slow) for name in NEITHER),
    ],
)
def test_of_two_tensors_of_different_shapes(exporter: str, name: str) -> None:
    x = torch.tensor([[0.0, -0.0, 1.5, -2.0, 3.0, 1e-3], [4.0, 0.5, -1.0, 0.0, 2.0, 7.0]])
    y = torch.tensor([0.5, -0.0, 0.0, 3.0, 2.0, 1.0])
    check_equal(getattr(torch, name), [x, y.abs() if name == "xlogy" else y], target_of(exporter))


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_what_is_no_number_gives_way(name: str) -> None:
    nan = float("nan")
    check_equal(
        getattr(torch, name), [torch.tensor([nan, 1.0, nan]), torch.tensor([2.0, nan, nan])], target_of("dynamo")
    )


@pytest.mark.parametrize("name", ["expm1", "trunc", "sinc", "hypot"])
def test_double(name: str) -> None:
    x = torch.linspace(-2, 2, 9, dtype=torch.float64)
    check_equal(getattr(torch, name), [x, x.flip(0)] if name == "hypot" else [x], target_of("torchscript"), 1e-12)


def test_expm1_keeps_small_results_and_ends() -> None:
    inf = float("inf")
    x = torch.tensor([1e-7, -1e-7, 3e-4, 80.0, -80.0, inf, -inf])
    model = check_equal(torch.expm1, [x], target_of("torchscript"), 1e-12)
    assert "Tanh" in [node.op_type for node in model.graph.node]


INF, NAN = float("inf"), float("nan")
ODD = torch.tensor([[-INF], [-1.0], [0.0], [1.0], [INF], [NAN]])


@pytest.mark.parametrize("name", ["hypot", "logaddexp", "logaddexp2", "heaviside", "fmax", "copysign"])
def test_infinities_and_what_is_no_number(name: str) -> None:
    other = torch.tensor([-INF, -2.0, 0.0, 2.0, INF, NAN])
    if name == "copysign":  # the sign of what is no number is not promised
        other = other[:-1]
    check_equal(getattr(torch, name), [ODD, other], target_of("torchscript"))


def test_the_sign_of_what_is_no_number() -> None:
    check_equal(torch.sgn, [ODD], target_of("torchscript"))


@pytest.mark.parametrize("name", sorted({*RANGES} - {"frac", "signbit"}))
def test_whole_numbers_are_promoted_as_torch_does(name: str) -> None:
    x = torch.tensor([1]) if name in ("acosh", "atanh") else torch.tensor([-2, 0, 3])
    if name == "atanh":
        x = x * 0
    check_equal(getattr(torch, name), [x], target_of("torchscript"))


def test_signs_of_whole_numbers() -> None:
    x = torch.tensor([-2, 0, 3])
    check_equal(torch.signbit, [x], target_of("torchscript"))
    check_equal(torch.copysign, [torch.tensor([1.0, -1.0, 2.0]), x], target_of("torchscript"))


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_the_larger_of_whole_numbers(exporter: str) -> None:
    x, y = torch.tensor([-2, 0, 3]), torch.tensor([1, -1, 3])
    check_equal(lambda x, y: (torch.fmax(x, y), torch.fmin(x, y)), [x, y], target_of(exporter))


@pytest.mark.parametrize("name", ["hypot", "fmax", "fmin", "logaddexp", "xlogy"])
def test_tensors_of_different_dtypes(name: str) -> None:
    x, y = torch.tensor([1.5, 0.0, 3.0]), torch.tensor([2.0, 1.0, 0.5], dtype=torch.float64)
    check_equal(getattr(torch, name), [x, y], target_of("torchscript"))


def test_a_number_for_a_tensor() -> None:
    check_equal(lambda x: torch.xlogy(x, 2.0), [torch.tensor([0.0, 1.5])], target_of("torchscript"))
    check_equal(lambda x: torch.xlogy(x, 2.0), [torch.tensor([0, 3])], target_of("torchscript"))


@pytest.mark.slow
def test_dynamo_promotes_too() -> None:
    x, y = torch.tensor([1.5, 0.0, 3.0]), torch.tensor([2.0, 1.0, 0.5], dtype=torch.float64)
    check_equal(lambda x, y: (torch.hypot(x, y), torch.fmin(x, y)), [x, y], target_of("dynamo"))
