"""A planted fault is named by the module that holds it, for a detector, a segmentor and a super-resolver."""

from collections.abc import Callable
from typing import Any

import onnx
import pytest
import torch.nn.functional as F
from torch import Tensor

import zoo.models.restoration.srcnn
import zoo.models.segmentation.resize
from pipeline.alignment.records import ITSELF, SET
from tests.examples import slow_but
from tests.exporters import DYNAMO_LATER
from tests.pipeline.alignment.planted import (
    aligned,
    exported,
    nodes_of,
    perturb,
    rows_swapped,
    set_attribute,
    set_constant,
    set_eps,
    sound,
    tensor_of,
    wrong_rewriter,
)

DETECTOR, SEGMENTOR, RESOLVER = "faster_rcnn", "whole", "srcnn"
RPN_IOU = 3  # the place of NonMaxSuppression's threshold among its inputs


def other_corners(original: Callable[..., Tensor], x: Tensor, size: Any, align_corners: bool = False) -> Tensor:
    """Of the decode head's resize alone: the logits have other channels."""
    return original(x, size, not align_corners) if x.shape[1] == 16 else original(x, size, align_corners)


def enlarged_by_corners(original: Callable[..., Tensor], images: Tensor, size: tuple[int, int]) -> Tensor:
    return F.interpolate(images, size=size, mode="bicubic", align_corners=True)


def with_wrong_rewriter(exporter: str) -> onnx.ModelProto:
    with wrong_rewriter(zoo.models.segmentation.resize, "resize", other_corners):
        return exported(SEGMENTOR, exporter)


def with_wrong_enlargement(exporter: str) -> onnx.ModelProto:
    with wrong_rewriter(zoo.models.restoration.srcnn, "enlarged", enlarged_by_corners):
        return exported(RESOLVER, exporter)


def edited(
    family: str, change: Callable[..., None], *arguments: Any, **values: Any
) -> Callable[[str], onnx.ModelProto]:
    """The file alone."""

    def make(exporter: str) -> onnx.ModelProto:
        model = sound(family, exporter)
        change(model, *arguments, **values)
        return model

    return make


def other_overlap(model: onnx.ModelProto) -> None:
    (nms,) = nodes_of(model, "rpn", "NonMaxSuppression")
    set_constant(model, nms.input[RPN_IOU], 0.3)


def other_epsilon(family: str, module: str) -> Callable[[str], onnx.ModelProto]:
    return lambda exporter: exported(family, exporter, set_eps(module))


BODY = "backbone.body.layer3.1"
FAULTS: dict[str, tuple[str, Callable[[str], onnx.ModelProto], str]] = {
    "a wrong rewriter flips align_corners": (SEGMENTOR, with_wrong_rewriter, "decode_head"),
    "one convolution's weights": (
        SEGMENTOR,
        edited(SEGMENTOR, perturb, "backbone.layer2.0.conv2"),
        "backbone.layer2.0.conv2 + backbone.layer2.0.bn2",
    ),
    "epsilon of one batch norm": (
        SEGMENTOR,
        other_epsilon(SEGMENTOR, "decode_head.convs.0.bn"),
        "decode_head.convs.0.conv + decode_head.convs.0.bn",
    ),
    "the mode of the last Resize": (
        SEGMENTOR,
        edited(SEGMENTOR, set_attribute, "", "Resize", mode="nearest"),
        ITSELF,
    ),
    "weights of a head that runs on all levels": (
        DETECTOR,
        edited(DETECTOR, perturb, "rpn.head.conv.0.0"),
        "rpn.head.conv.0.0",
    ),
    "the mode of the pyramid's Resize": (
        DETECTOR,
        edited(DETECTOR, set_attribute, "backbone.fpn", "Resize", mode="linear"),
        "backbone.fpn",
    ),
    "epsilon in the backbone": (DETECTOR, other_epsilon(DETECTOR, f"{BODY}.bn1"), f"{BODY}.conv1 + {BODY}.bn1"),
    "weights behind the proposals": (
        DETECTOR,
        edited(DETECTOR, perturb, "roi_heads.box_head.fc7", "Gemm"),
        "roi_heads.box_head.fc7",
    ),
    "the coordinates of the pooling": (
        DETECTOR,
        edited(
            DETECTOR,
            set_attribute,
            "roi_heads.box_roi_pool",
            "RoiAlign",
            coordinate_transformation_mode="half_pixel",
        ),
        "roi_heads.box_roi_pool",
    ),
    "the overlap at which proposals are dropped": (DETECTOR, edited(DETECTOR, other_overlap), "rpn"),
    "one layer of a super-resolver": (RESOLVER, edited(RESOLVER, perturb, "conv2"), "conv2"),
    "its enlargement in the file": (RESOLVER, edited(RESOLVER, set_attribute, "", "Resize", mode="linear"), ITSELF),
    "a wrong rewriter of its enlargement": (RESOLVER, with_wrong_enlargement, ITSELF),
}

LATER = (  # a second detector, a second segmentor, and faults beside another one in the same part
    "epsilon in the backbone",
    "a wrong rewriter flips align_corners",
    "the coordinates of the pooling",
)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=[pytest.mark.slow] if name in LATER else []) for name in FAULTS]
)
def test_the_module_is_named(fault: str, exporter: str) -> None:
    family, make, module = FAULTS[fault]
    found = aligned(family, make(exporter))
    assert found.first is not None, found.verdict
    assert found.first.name == module
    assert found.is_culprit(found.first)
    assert not found.passed
    assert module in found.verdict


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("family", slow_but([DETECTOR, SEGMENTOR, "slide", RESOLVER], DETECTOR, RESOLVER))
def test_a_graph_without_a_fault_has_none(family: str, exporter: str) -> None:
    found = aligned(family, sound(family, exporter))
    assert found.passed, found.verdict
    assert not [pair for pair in found.pairs if pair.verdict == "not comparable"]
    assert found.changed == 0.0  # the graph's outputs, with all the others beside them
    assert set(found.absent) <= {"rpn.anchor_generator"}  # anchors are constants of the graph


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
@pytest.mark.parametrize("family", ["mask_rcnn", "keypoint_rcnn", "retina_net", "fcos", "ssd"])
def test_no_other_detector_has_one(family: str, exporter: str) -> None:
    found = aligned(family, sound(family, exporter))
    assert found.passed, found.verdict


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_behind_other_proposals_pytorchs_go_in(exporter: str) -> None:
    model = sound(DETECTOR, exporter)
    proposals = tensor_of(aligned(DETECTOR, model), "rpn")
    rows_swapped(model, proposals)
    found = aligned(DETECTOR, model)
    assert found.passed, found.verdict
    (pair,) = (pair for pair in found.pairs if pair.tensor == proposals)
    assert pair.verdict == SET
    assert "PyTorch's are used" in pair.note
    assert all(pair.verdict == "equal" for pair in found.pairs if "box_head" in pair.name)
    perturb(model, "roi_heads.box_predictor.cls_score", "Gemm")
    named = aligned(DETECTOR, model).first
    assert named is not None
    assert named.name == "roi_heads.box_predictor.cls_score"


def test_what_follows_a_fault_is_a_victim() -> None:
    model = sound(SEGMENTOR, "torchscript")
    perturb(model, "backbone.layer2.0.conv2")
    found = aligned(SEGMENTOR, model)
    later = [pair for pair in found.differing if pair is not found.first]
    assert later
    assert not any(found.is_culprit(pair) for pair in later)


def test_small_chunks_find_the_same() -> None:
    model = sound(SEGMENTOR, "torchscript")
    perturb(model, "backbone.layer2.0.conv2")
    whole, chunks = aligned(SEGMENTOR, model), aligned(SEGMENTOR, model, memory=200_000)
    assert [pair.tensor for pair in chunks.pairs] == [pair.tensor for pair in whole.pairs]
    assert chunks.first is not None
    assert whole.first is not None
    assert chunks.first.figures == whole.first.figures
