"""zooport::deformable_attention against transformers' own function, in every form and by both exporters."""

import functools

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("transformers", reason="the rewriters of its models are not imported without it")
from rewriters.attention.deformable_attention import deformable_attention
from tests.rewriters.ops.exported import FORMS, exported, operators, session_of

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")]

POINTS = [3, 2, 1]
HEADS, WIDTH = 2, 4
AXES = {
    "values": {0: "n", 1: "s"},
    "sizes": {},
    "places": {0: "n", 1: "q"},
    "weights": {0: "n", 1: "q"},
}


class Attention(nn.Module):
    def forward(self, values: Tensor, sizes: Tensor, places: Tensor, weights: Tensor) -> Tensor:
        attended: Tensor = deformable_attention(values, sizes, places, weights, POINTS)
        return attended


def example(sizes: list[tuple[int, int]], batch: int = 2, queries: int = 5, seed: int = 0) -> tuple[Tensor, ...]:
    """Places inside and outside of the maps."""
    generator = torch.Generator().manual_seed(seed)
    elements = sum(height * width for height, width in sizes)
    points = (batch, queries, HEADS, sum(POINTS))
    return (
        torch.randn(batch, elements, HEADS, WIDTH, generator=generator),
        torch.tensor(sizes),
        torch.rand(*points, 2, generator=generator) * 1.6 - 0.3,
        torch.rand(*points, generator=generator),
    )


@functools.cache
def model_of(form: tuple[str, str]) -> onnx.ModelProto:
    return exported(Attention(), example([(8, 12), (4, 6), (2, 3)]), AXES, ["attended"], form)


@pytest.mark.libraries
@pytest.mark.parametrize("seed", range(5))
def test_eager_equals_transformers_function(seed: int) -> None:
    modeling = pytest.importorskip("transformers.models.rt_detr_v2.modeling_rt_detr_v2", reason="needs transformers")
    sizes = [(6, 9), (3, 5), (1, 1)]
    values, _, places, weights = inputs = example(sizes, seed=seed)
    expected = modeling.multi_scale_deformable_attention_v2(values, sizes, places, weights, POINTS)
    assert torch.allclose(Attention()(*inputs), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "batch", "queries"),
    [
        ([(8, 12), (4, 6), (2, 3)], 2, 5),
        ([(7, 5), (3, 3), (1, 2)], 1, 1),
        ([(1, 1), (1, 1), (1, 1)], 3, 4),
        ([(2, 30), (1, 15), (1, 7)], 2, 9),
    ],
)
@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_graphs_equal_eager_at_every_size(
    form: tuple[str, str], sizes: list[tuple[int, int]], batch: int, queries: int
) -> None:
    inputs = example(sizes, batch, queries, seed=1)
    feed = {name: tensor.numpy() for name, tensor in zip(AXES, inputs, strict=True)}
    (attended,) = session_of(model_of(form)).run(None, feed)
    assert np.allclose(attended, Attention()(*inputs).numpy(), atol=2e-6)


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_places_far_away_count_nothing(form: tuple[str, str]) -> None:
    values, sizes, places, weights = example([(8, 12), (4, 6), (2, 3)])
    places[:, 0] = 1e4
    places[:, 1] = -1e4
    feed = {"values": values, "sizes": sizes, "places": places, "weights": weights}
    (attended,) = session_of(model_of(form)).run(None, {name: tensor.numpy() for name, tensor in feed.items()})
    assert (attended[:, :2] == 0).all()


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_each_form_has_its_operators(form: tuple[str, str]) -> None:
    types = operators(model_of(form).graph)
    assert not any("::" in kind for kind in types)
    assert types.count("GridSample") == (len(POINTS) if form[1] == "onnxruntime" else 0)
    assert types.count("GatherND") == (0 if form[1] == "onnxruntime" else 1)
