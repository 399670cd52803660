"""Elementwise functions: torch's numbers, in both float dtypes, with both exporters where both need them."""

import pytest
import torch

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
    ("exporter", "name"), [*(("torchscript", name) for name in OF_TWO), *(("dynamo", name) for name in NEITHER)]
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
