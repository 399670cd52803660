"""The tensors of an eager run, of a model that keeps one from an earlier run."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from pipeline.alignment.comparing import Comparison
from pipeline.alignment.eager_run import IN, run_eager
from pipeline.alignment.records import EQUAL
from rewriters.precision import to_fp16
from tests.rewriters.small_models import export, fixed_target
from zoo.precision_options import PrecisionOptions
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

IMAGES = torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(0))


class Add(nn.Module):
    def forward(self, features: Tensor, places: Tensor) -> Tensor:
        return features + places


class Keeping(nn.Module):
    """Makes the places of its pixels once, as transformers' position embeddings do, and keeps them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 2, 3, padding=1)
        self.add = Add()
        self.places: Tensor | None = None

    def forward(self, images: Tensor) -> Tensor:
        if self.places is None:
            self.places = torch.linspace(0, 1, images.shape[-1])
        return self.add(self.conv(images), self.places).tanh()


class Whole(Contract):
    def forward(self, images: Tensor) -> tuple[Tensor]:
        return (self.model(images),)


@pytest.fixture(params=[torch.inference_mode, torch.no_grad])
def model(request: Any) -> Keeping:
    """It has run once, in this mode."""
    keeping = Keeping().eval()
    with request.param():
        keeping(IMAGES)
    return keeping


def test_a_kept_tensor_has_the_same_number_in_every_run(model: Keeping) -> None:
    module = Whole(model, {})
    first = run_eager(module, {"images": IMAGES.numpy()})
    numbers = first.roles["add", IN]
    assert len(numbers) == 2
    second = run_eager(module, {"images": IMAGES.numpy()}, numbers)
    assert second.roles == first.roles
    assert second.sizes == first.sizes
    assert model.places is not None
    np.testing.assert_array_equal(second.kept[numbers[1]], model.places.numpy())


def test_such_a_model_is_aligned(model: Keeping, tmp_path: Path) -> None:
    module = Whole(model, {})
    specs = [TensorSpec("map", "float32", ("batch", 2, 16, 16))]
    export(module, fixed_target(16, 16, exporter="torchscript"), tmp_path / "model.onnx", specs)
    graph = onnx.load(tmp_path / "model.onnx")
    comparison = Comparison(module, graph, {"images": IMAGES.numpy()}, {}, threshold=1e-4, memory=1)
    comparison.compare(lambda _what, _done, _all: None)
    assert {pair.verdict for pair in comparison.pairs} == {EQUAL}
    assert "add" in {name for pair in comparison.pairs for name in pair.modules}


class Shared(nn.Module):
    """One activation for all its layers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Conv2d(3, 3, 3, padding=1) for _ in range(5))
        self.act = nn.Tanh()

    def forward(self, images: Tensor) -> Tensor:
        for layer in self.layers:
            images = self.act(layer(images))
        return images


def test_the_calls_of_one_module_are_held_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = Whole(Shared().eval(), {})
    specs = [TensorSpec("map", "float32", ("batch", 3, 16, 16))]
    export(module, fixed_target(16, 16, exporter="torchscript"), tmp_path / "model.onnx", specs)
    held = []

    def run(module: Any, given: Any, keep: Any = ()) -> Any:
        held.append(len(keep))
        return run_eager(module, given, keep)

    monkeypatch.setattr("pipeline.alignment.comparing.run_eager", run)
    size = 4 * 3 * 16 * 16 * len(IMAGES)
    graph = onnx.load(tmp_path / "model.onnx")
    comparison = Comparison(module, graph, {"images": IMAGES.numpy()}, {}, threshold=1e-4, memory=4 * size)
    comparison.compare(lambda _what, _done, _all: None)
    assert max(held) == 2
    assert {pair.verdict for pair in comparison.pairs} == {EQUAL}
    assert len([pair for pair in comparison.pairs if "act" in pair.modules]) == 5


class Twice(nn.Module):
    """A tensor that two modules take, one of them beside a constant."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Conv2d(3, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1)
        self.add = Add()
        self.register_buffer("places", torch.linspace(0, 1, 16) + torch.zeros(1, 2, 16, 1))

    def forward(self, images: Tensor) -> Tensor:
        features = self.first(images)
        return self.add(features, self.places).tanh() + self.second(features)


def test_a_tensor_and_its_cast_are_one(tmp_path: Path) -> None:
    """In fp16 a module that stays in fp32 is given the cast of a tensor that has been compared already."""
    module = Whole(Twice().eval(), {})
    specs = [TensorSpec("map", "float32", ("batch", 2, 16, 16))]
    export(module, fixed_target(16, 16, exporter="torchscript"), tmp_path / "model.onnx", specs)
    halved, _ = to_fp16(
        onnx.load(tmp_path / "model.onnx"), PrecisionOptions(keep_fp32=("add",)), [{"images": IMAGES.numpy()}]
    )
    comparison = Comparison(module, halved, {"images": IMAGES.numpy()}, {}, threshold=0.05, memory=64 << 20)
    comparison.compare(lambda _what, _done, _all: None)
    assert {pair.verdict for pair in comparison.pairs} == {EQUAL}
