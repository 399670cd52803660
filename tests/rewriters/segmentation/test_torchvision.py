"""torchvision's segmentors at every level, by both exporters, at fixed and dynamic sizes: equal to the unpatched."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from pipeline.parity.gates import GRAPH
from tests.examples import slow_but
from tests.rewriters.small_models import export, fixed_target, run
from tests.rewriters.small_segmentors import CLASSES, SMALL, calibrated, sample_images, small_torchvision_segmentor
from zoo import Target
from zoo.errors import InputError
from zoo.families import contract_module
from zoo.registry import MODELS
from zoo.target import AxisRange
from zoo.tasks import build_task
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

EXPORTERS = ("torchscript", "dynamo")
LOGIT_GATE = GRAPH["logits"]  # of their range


def contract(model: nn.Module, level: str) -> Contract:
    classes = [{"name": str(i), "category_id": i} for i in range(CLASSES)]
    return contract_module(model, build_task({"type": "SemanticSegmentation", "classes": classes}), level, {})


def spec(module: Contract, level: str, target: Target) -> TensorSpec:
    """The contract's tensor: the image's axes, but for the raw level, whose sides follow the head's."""
    with torch.no_grad():
        (found,) = module(sample_images(1, *target.preferred.values()))
    sides: tuple[int | str, ...] = tuple(found.shape[-2:])
    if target.axes["height"].dynamic:
        sides = ("logits_2", "logits_3") if level == "raw" else ("height", "width")
    name, channels = ("label_map", ()) if level == "final" else ("logits", (CLASSES,))
    return TensorSpec(name, str(found.dtype).removeprefix("torch."), ("batch", *channels, *sides))


def assert_same(model: nn.Module, level: str, path: Path, images: Tensor) -> None:
    """What the file gives for these images is what the unpatched model gives, within the project's gates."""
    with torch.no_grad():
        (expected,) = (tensor.numpy() for tensor in contract(model, level)(images))
        logits = model(images)["out"].numpy()
    (found,) = run(path, images)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if level != "final":
        assert np.abs(found - expected).max() <= LOGIT_GATE * np.ptp(expected)
        return
    best, second = np.sort(logits, axis=1)[:, :-3:-1].swapaxes(0, 1)
    clear = best - second > 2 * LOGIT_GATE * np.ptp(logits)
    assert clear.mean() > 0.9
    assert (found == expected)[clear].all()


def classes_found(model: nn.Module, images: Tensor) -> set[int]:
    """A label map of one class would prove little."""
    with torch.no_grad():
        return set(model(images)["out"].argmax(dim=1).unique().tolist())


def dynamic(target: Target) -> Target:
    """Height and width of 32 to 200 pixels."""
    return target.with_(**{axis: AxisRange(32, side.opt, 200) for axis, side in target.sides.items()})


# On every commit: torchscript, which is quick: a fixed and a dynamic size; one_fixed_batch has the third kind.
ON_EVERY_COMMIT = [("FCN", "raw", "fixed"), ("LRASPP", "decoded", "dynamic")]
CELLS = [
    pytest.param(kind, level, exporter, sizes, marks=() if quick else pytest.mark.slow)
    for kind in SMALL
    for level in ("final", "decoded", "raw")
    for exporter in EXPORTERS
    for sizes in ("fixed", "dynamic")
    for quick in [exporter == "torchscript" and (kind, level, sizes) in ON_EVERY_COMMIT]
]


@pytest.mark.parametrize(("kind", "level", "exporter", "sizes"), CELLS)
def test_any_batch(kind: str, level: str, exporter: str, sizes: str, tmp_path: Path) -> None:
    model = small_torchvision_segmentor(kind)
    target, path = fixed_target(65, 97, exporter=exporter), tmp_path / "m.onnx"
    if sizes == "dynamic":
        target = dynamic(target)
    module = contract(model, level)
    export(module, target, path, [spec(module, level, target)])
    others = [(33, 47), (128, 64), (199, 101)] if sizes == "dynamic" else []
    for count, (height, width) in zip((1, 2, 5, 1), [(65, 97), *(others or [(65, 97)] * 2)], strict=False):
        images = sample_images(count, height, width, seed=height + count)
        assert_same(model, level, path, images)
        assert len(classes_found(model, images)) > 1


@pytest.mark.parametrize("exporter", [pytest.param("dynamo", marks=pytest.mark.slow), "torchscript"])
@pytest.mark.parametrize("kind", slow_but(SMALL, "DeepLabV3"))
def test_one_fixed_batch(kind: str, exporter: str, tmp_path: Path) -> None:
    model = small_torchvision_segmentor(kind)
    target = fixed_target(64, 96, exporter=exporter).with_(batch=AxisRange.fixed(2))
    path = tmp_path / "m.onnx"
    export(contract(model, "decoded"), target, path, [TensorSpec("logits", "float32", (2, CLASSES, 64, 96))])
    assert_same(model, "decoded", path, sample_images(2, 64, 96))


@pytest.mark.parametrize("exporter", [pytest.param("dynamo", marks=pytest.mark.slow), "torchscript"])
def test_the_auxiliary_classifier_is_not_in_the_graph(exporter: str, tmp_path: Path) -> None:
    model: Any = small_torchvision_segmentor("FCN")
    counts = []
    for _ in range(2):
        export(
            contract(model, "decoded"),
            fixed_target(64, 96, exporter=exporter),
            tmp_path / "m.onnx",
            [TensorSpec("logits", "float32", ("batch", CLASSES, 64, 96))],
        )
        graph = onnx.load(tmp_path / "m.onnx").graph
        counts.append((len(graph.node), len(graph.initializer)))
        model.aux_classifier = None
    assert counts[0] == counts[1]


class TestContract:
    def test_a_model_that_gives_something_else(self) -> None:
        class Boxes(nn.Module):
            def forward(self, images: Tensor) -> dict[str, Tensor]:
                return {"boxes": images, "scores": images}

        for level in ("decoded", "final"):
            with pytest.raises(InputError, match=r'gives a mapping with boxes, scores, expected logits or {"out": '):
                contract(Boxes(), level)(sample_images(1, 32, 32))

    def test_a_model_without_a_head_has_no_raw_level(self) -> None:
        with pytest.raises(InputError, match="level raw: Identity has no decode_head or classifier; use level decoded"):
            contract(nn.Identity(), "raw")(sample_images(1, 32, 32))

    def test_raw_is_the_heads_own_resolution(self) -> None:
        for kind in SMALL:
            (found,) = contract(small_torchvision_segmentor(kind), "raw")(sample_images(1, 64, 96))
            assert found.shape == (1, CLASSES, 8, 12)


FULL = (
    *("fcn_resnet50", "fcn_resnet101", "deeplabv3_resnet50", "deeplabv3_resnet101"),
    *("deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"),
)


def full_segmentor(architecture: str) -> nn.Module:
    torch.manual_seed(0)
    options = {} if architecture.startswith("lraspp") else {"aux_loss": True}
    section = {"type": "TorchvisionSegmentor", "architecture": architecture, "num_classes": CLASSES}
    return calibrated(MODELS.build({**section, **options}))


@pytest.mark.slow
@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("architecture", FULL)
def test_the_real_architectures(architecture: str, exporter: str, tmp_path: Path) -> None:
    model = full_segmentor(architecture)
    target, path = fixed_target(97, 129, exporter=exporter), tmp_path / "m.onnx"
    module = contract(model, "decoded")
    export(module, target, path, [spec(module, "decoded", target)])
    for count in (1, 2, 5):
        assert_same(model, "decoded", path, sample_images(count, 97, 129, seed=count))
    path.unlink()
    module, target = contract(model, "final"), dynamic(target)
    export(module, target, path, [spec(module, "final", target)])
    found: set[int] = set()
    for count, height, width in ((1, 64, 96), (2, 97, 129), (5, 64, 64)):
        images = sample_images(count, height, width, seed=height)
        assert_same(model, "final", path, images)
        found |= classes_found(model, images)
    assert len(found) > 1
