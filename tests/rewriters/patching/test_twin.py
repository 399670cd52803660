"""The copy of a model that an exporter is given: its functions are its own, and what cannot be copied is shared."""

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from rewriters.patching.twin import twin
from tests.rewriters.small_models import export, fixed_target, run
from zoo.errors import ExportError
from zoo.tensor_spec import TensorSpec


class Hooked(nn.Module):
    """Gives what a hook keeps of its first layer, as DPT does with its backbone's blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU())
        self.seen: dict[str, Tensor] = {}

    def read(self) -> Tensor:
        return self.seen["first"]

    def forward(self, images: Tensor) -> Tensor:
        self.layers(images)
        return self.read() + images


GLOBAL: dict[str, Tensor] = {}


def of_a_dict(model: Hooked) -> Callable[..., None]:
    seen = model.seen
    return lambda module, inputs, output: seen.update(first=output)


def of_the_model(model: Hooked) -> Callable[..., None]:
    return lambda module, inputs, output: model.seen.update(first=output)


def of_a_default(model: Hooked) -> Callable[..., None]:
    return lambda module, inputs, output, seen=model.seen: seen.update(first=output)


def of_a_partial(model: Hooked) -> Callable[..., None]:
    def keep(key: str, *values: Any) -> None:
        model.seen[key] = values[-1]

    return functools.partial(keep, "first")


def of_a_variable(model: Hooked) -> Callable[..., None]:
    """Two functions with one cell, and one that is in its own."""
    first = torch.empty(0)

    def keep(module: nn.Module | None, inputs: Any, output: Tensor) -> None:
        nonlocal first
        if module is not None:
            keep(None, inputs, output)
        first = output

    model.read = lambda: first  # type: ignore[method-assign]
    return keep


def of_a_global(model: Hooked) -> Callable[..., None]:
    """As MiDaS has it."""
    model.seen = GLOBAL
    return lambda module, inputs, output: GLOBAL.update(first=output)


def of_another_forward(model: Hooked) -> Callable[..., None]:
    before = model.layers[0].forward

    def forward(images: Tensor) -> Tensor:
        return 2 * before(images)

    model.layers[0].forward = functools.wraps(before)(forward)
    return of_a_dict(model)


@pytest.mark.parametrize(
    "hook", [of_a_dict, of_the_model, of_a_default, of_a_partial, of_a_variable, of_a_global, of_another_forward]
)
def test_hooks_write_where_the_copy_reads(hook: Callable[[Hooked], Callable[..., None]], tmp_path: Path) -> None:
    """The model has run before: what its hooks kept then must not become a constant of the file."""
    model = Hooked().eval()
    model.layers[0].register_forward_hook(hook(model))
    images = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        model(torch.ones(2, 3, 8, 8))
        specs = [TensorSpec("out", "float32", ("batch", 3, 8, 8))]
        export(model, fixed_target(8, 8, exporter="torchscript"), tmp_path / "m.onnx", specs)
        torch.testing.assert_close(torch.from_numpy(run(tmp_path / "m.onnx", images)[0]), model(images))
    kept = model.read()
    copied = twin(model)
    with torch.no_grad():
        assert torch.equal(copied(images), kept + images)
    assert model.read() is kept or hook is of_a_global
    assert copied.layers[0].weight is model.layers[0].weight


class Uncopied(nn.Module):
    """Holds what cannot be copied, beside what can."""

    def __init__(self) -> None:
        super().__init__()
        self.library = functional
        self.seen: dict[str, Any] = {"lock": threading.Lock()}
        self.rest = (one for one in "abc")
        self.layer = nn.ReLU()
        self.layer.register_forward_hook(lambda module, inputs, output: self.seen.update(first=output))

    def forward(self, images: Tensor) -> Tensor:
        self.layer(images)
        with self.seen["lock"]:
            return self.library.relu(-images) + self.seen["first"]


def test_what_cannot_be_copied_is_shared(tmp_path: Path) -> None:
    model = Uncopied().eval()
    images = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    specs = [TensorSpec("out", "float32", ("batch", 3, 8, 8))]
    export(model, fixed_target(8, 8, exporter="torchscript"), tmp_path / "m.onnx", specs)
    assert "first" not in model.seen
    torch.testing.assert_close(torch.from_numpy(run(tmp_path / "m.onnx", images)[0]), images.abs())


def test_a_module_that_refuses_to_be_copied(tmp_path: Path) -> None:
    class Single(nn.ReLU):
        def __deepcopy__(self, memo: Any) -> Any:
            raise TypeError("there is one only")

    specs = [TensorSpec("out", "float32", ("batch", 3, 8, 8))]
    with pytest.raises(ExportError, match=r"^the model cannot be copied.*TypeError: there is one only"):
        export(Single().eval(), fixed_target(8, 8, exporter="torchscript"), tmp_path / "m.onnx", specs)
