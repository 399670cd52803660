"""Every architecture of the EncoderDecoder family, by both exporters, at fixed and dynamic sizes: as unpatched."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from pipeline.parity.gates import GRAPH
from tests.exporters import DYNAMO_LATER
from tests.rewriters.encoder_decoders import ARCHITECTURES, CLASSES, small_encoder_decoder
from tests.rewriters.small_models import contract, export, fixed_target, run
from tests.rewriters.small_segmentors import sample_images
from zoo.models.segmentation import EncoderDecoder
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

EXPORTERS = ("torchscript", "dynamo")
BOUND = GRAPH["logits"]  # of their range
HEIGHT, WIDTH = 65, 97
SIZES = {"fixed": [(HEIGHT, WIDTH)], "dynamic": [(HEIGHT, WIDTH), (64, 96), (33, 47), (199, 101)]}
LOGITS = ("logits", "float32", CLASSES)
SPECS = {"decoded": LOGITS, "final": ("label_map", "uint8", None), "raw": LOGITS}
ADAPTIVE, ATTENTION = "torch.nn.functional.adaptive_avg_pool2d", "torch.MultiheadAttention.forward"
DEFORM_CONV = "torchvision::deform_conv2d"
POOLED = ("psp", "uper", "convnext", "dcn")  # the last two have a UPerHead, too


def target_of(exporter: str, sizes: str) -> Target:
    target = fixed_target(HEIGHT, WIDTH, exporter=exporter)
    if sizes == "fixed":
        return target
    return target.with_(height=AxisRange(32, HEIGHT, 200), width=AxisRange(32, WIDTH, 200))


def spec(model: EncoderDecoder, level: str, sizes: str) -> TensorSpec:
    """The contract's tensor: the image's axes, but for the raw level, whose sides follow the head's."""
    name, dtype, channels = SPECS[level]
    with torch.no_grad():
        (found,) = contract(model, level)(sample_images(1, HEIGHT, WIDTH))
    sides: tuple[int | str, ...] = tuple(found.shape[-2:])
    if sizes == "dynamic":
        sides = ("logits_2", "logits_3") if level == "raw" else ("height", "width")
    return TensorSpec(name, dtype, ("batch", *([channels] if channels else []), *sides))


def assert_same(model: EncoderDecoder, level: str, path: Path, count: int, size: tuple[int, int]) -> None:
    images = sample_images(count, *size, seed=sum(size) + count)
    with torch.no_grad():
        (expected,) = (tensor.numpy() for tensor in contract(model, level)(images))
        logits = model(images).numpy()
    (found,) = run(path, images)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if level != "final":
        assert np.abs(found - expected).max() <= BOUND * np.ptp(expected)
        return
    best, second = np.sort(logits, axis=1)[:, :-3:-1].swapaxes(0, 1)
    clear = best - second > 2 * BOUND * np.ptp(logits)
    assert clear.mean() > 0.95
    assert (found == expected)[clear].all()
    assert len(np.unique(expected)) > 1


# On every commit: torchscript, which is quick, at dynamic sizes, of one architecture. Tests below export another, and
# test_torchvision a third.
ON_EVERY_COMMIT = ("segformer",)
CELLS = [
    pytest.param(architecture, exporter, sizes, marks=() if quick else pytest.mark.slow)
    for architecture in ARCHITECTURES
    for exporter in EXPORTERS
    for sizes in SIZES
    for quick in [exporter == "torchscript" and sizes == "dynamic" and architecture in ON_EVERY_COMMIT]
]


@pytest.mark.parametrize(("architecture", "exporter", "sizes"), CELLS)
def test_logits(architecture: str, exporter: str, sizes: str, tmp_path: Path) -> None:
    model, path = small_encoder_decoder(architecture), tmp_path / "m.onnx"
    record = export(contract(model, "decoded"), target_of(exporter, sizes), path, [spec(model, "decoded", sizes)])
    fired = {rewriter.name for rewriter in record.rewriters}
    assert (ADAPTIVE in fired) == (architecture in POOLED and (exporter, sizes) != ("dynamo", "fixed"))
    assert (ATTENTION in fired) == (architecture == "segformer" and exporter == "torchscript")
    assert (DEFORM_CONV in fired) == (architecture == "dcn" and exporter == "torchscript")
    for size in SIZES[sizes]:
        for count in (1, 3):
            assert_same(model, "decoded", path, count, size)


OTHER = [(architecture, "torchscript", level) for architecture in ARCHITECTURES for level in ("final", "raw")] + [
    (architecture, "dynamo", "final") for architecture in ("psp", "segformer")
]


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "exporter", "level"), OTHER)
def test_other_levels(architecture: str, exporter: str, level: str, tmp_path: Path) -> None:
    model, path = small_encoder_decoder(architecture), tmp_path / "m.onnx"
    export(contract(model, level), target_of(exporter, "dynamic"), path, [spec(model, level, "dynamic")])
    for size in SIZES["dynamic"]:
        assert_same(model, level, path, 1, size)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("architecture", ["uper", pytest.param("sep-aspp", marks=pytest.mark.slow)])
def test_aligned_corners(architecture: str, exporter: str, tmp_path: Path) -> None:
    model, path = small_encoder_decoder(architecture, align_corners=True), tmp_path / "m.onnx"
    export(contract(model, "decoded"), target_of(exporter, "dynamic"), path, [spec(model, "decoded", "dynamic")])
    other = small_encoder_decoder(architecture)
    other.load_state_dict(model.state_dict())
    images = sample_images(1, 64, 96)
    with torch.no_grad():
        assert not torch.allclose(model(images), other(images), atol=1e-2)  # it matters
    for size in SIZES["dynamic"]:
        assert_same(model, "decoded", path, 1, size)


@pytest.mark.slow
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_auxiliary_heads_are_not_in_the_graph(exporter: str, tmp_path: Path) -> None:
    model, path = small_encoder_decoder("bisenet"), tmp_path / "m.onnx"
    assert model.auxiliary_head is not None
    counts = []
    for _ in range(2):
        export(contract(model, "decoded"), target_of(exporter, "fixed"), path, [spec(model, "decoded", "fixed")])
        graph = onnx.load(path).graph
        counts.append((len(graph.node), len(graph.initializer)))
        model.auxiliary_head = None
    assert counts[0] == counts[1]
