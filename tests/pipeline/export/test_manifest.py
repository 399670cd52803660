"""What the manifest says of the weights, and of what ran the proof."""

import pytest
import torch
from torch import nn

from backends.registry import get_backend
from pipeline.base.weights import weights_sha256
from pipeline.export.manifest import model_libraries, proved_on
from zoo import installed_versions
from zoo.families import Family, registry
from zoo.target import AxisRange, Target

SIDES = dict.fromkeys(("height", "width"), AxisRange.fixed(64))


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))


def test_the_hash_is_that_of_the_weights() -> None:
    first = weights_sha256(model())
    assert first == weights_sha256(model())
    assert first == weights_sha256(model().to(memory_format=torch.channels_last))
    assert len(first) == 64


def test_any_other_value_dtype_or_name_gives_another_hash() -> None:
    found = {weights_sha256(model()), weights_sha256(model().double()), weights_sha256(nn.ModuleDict({"m": model()}))}
    other = model()
    other.get_buffer("1.num_batches_tracked").add_(1)
    assert len(found | {weights_sha256(other)}) == 4


@pytest.mark.parametrize(
    ("backend", "level", "reason", "packages"),
    [
        ("onnxruntime", "final", None, {"onnxruntime"}),
        ("openvino", "final", None, {"openvino"}),
        ("tensorrt-rtx", "final", None, {"tensorrt_rtx", "cuda-bindings"}),
        ("tensorrt-rtx", "final", "there is no GPU", {"tensorrt_rtx", "cuda-bindings", "onnxruntime"}),
        ("tensorrt-rtx", "plugin", None, {"tensorrt_rtx", "cuda-bindings", "onnxruntime"}),
    ],
)
def test_the_proof_names_what_ran_it(
    monkeypatch: pytest.MonkeyPatch, backend: str, level: str, reason: str | None, packages: set[str]
) -> None:
    """Another runtime that is here has no part in it: an older one elsewhere would be a false alarm."""
    monkeypatch.setattr(installed_versions, "_installed_version", lambda package: "1.0")
    monkeypatch.setattr(type(get_backend(backend)), "can_run", lambda own, device: reason)
    target = Target(SIDES, backend=backend, level=level)
    assert set(proved_on(target)["versions"]) == packages | {"numpy", "opencv-python"}


def test_the_libraries_of_a_model_are_those_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library(Family):
        def libraries(self) -> dict[str, str]:
            return {"a library": "1.2.3"}

    monkeypatch.setitem(registry._by_class, nn.BatchNorm2d, Library())
    assert model_libraries(model()) == {"a library": "1.2.3"}
    assert model_libraries(nn.Conv2d(3, 4, 1)) == {}
