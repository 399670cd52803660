"""Constants of a graph are compared by value with the model's, also those that no image uses."""

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
import torch
from onnx import numpy_helper

from pipeline.export.constants import constants_of_graph
from pipeline.parity.constants.comparing import GraphSide
from pipeline.parity.constants.readings import read_constants
from pipeline.parity.records import ComparedConstant, ParityRecord
from tests.examples import slow_but
from tests.pipeline.alignment.planted import contract_for, model_of, sound
from tests.pipeline.parity.constants.faults import Fault, attribute, numbers, read, stored
from tests.rewriters import small_rotated_fcos, small_yolov5
from tests.rewriters.small_models import detection_specs, export, fixed_target
from zoo.contract.constants import Case
from zoo.contract.module_outputs import module_outputs
from zoo.families import family_of
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

HEIGHT, WIDTH = 64, 96
POOL = "roi_heads.box_roi_pool"


def case_of(module: Contract, images: np.ndarray) -> Case:
    def outputs(modules: Any) -> dict[str, Any]:
        with module_outputs(modules) as seen, torch.inference_mode():
            module(torch.from_numpy(images))
        return seen

    return Case("final", fixed=True, shape=images.shape, outputs=outputs)


def compared(family: str, graph: onnx.ModelProto, *, half: bool = False) -> list[ComparedConstant]:
    images = np.random.default_rng(0).random((1, 3, HEIGHT, WIDTH), np.float32)
    module = OF_OUR_OWN[family][0]() if family in OF_OUR_OWN else contract_for(family, model_of(family))
    constants = list(family_of(module.model).constants(module.model, case_of(module, images)))
    return constants_of_graph(graph, constants, {"images": images}, half=half)


OF_OUR_OWN: dict[str, tuple[Callable[[], Contract], list[TensorSpec]]] = {
    "yolov5": (lambda: small_yolov5.contract(small_yolov5.small_yolov5()), detection_specs(small_yolov5.SLOTS)),
    "rotated_fcos": (
        lambda: small_rotated_fcos.contract(small_rotated_fcos.small_rotated_fcos()),
        detection_specs(small_rotated_fcos.SLOTS, columns=5),
    ),
}


def graph_of(family: str, exporter: str) -> onnx.ModelProto:
    if family not in OF_OUR_OWN:
        return sound(family, exporter)
    if (family, exporter) not in GRAPHS:
        with tempfile.TemporaryDirectory() as folder:
            target = fixed_target(HEIGHT, WIDTH, exporter=exporter, opset=18)
            module, specs = OF_OUR_OWN[family]
            export(module(), target, Path(folder, "model.onnx"), specs)
            GRAPHS[family, exporter] = onnx.load(Path(folder, "model.onnx"))
    return copy.deepcopy(GRAPHS[family, exporter])


GRAPHS: dict[tuple[str, str], onnx.ModelProto] = {}


def coarsest(rows: int, by: float = 2.0) -> Callable[[np.ndarray], np.ndarray]:
    def move(value: np.ndarray) -> np.ndarray:
        value[-rows:] += by
        return value

    return move


def times(factor: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda value: (value * factor).astype(value.dtype)


FAULTS: dict[str, tuple[str, Fault, str]] = {
    "RoIAlign of a level in another frame": (
        "faster_rcnn",
        attribute(POOL, "RoiAlign", 1, coordinate_transformation_mode="half_pixel"),
        "RoIAlign of level 1 (roi_heads.box_roi_pool): PyTorch has spatial_scale 0.125",
    ),
    "RoIAlign of a level with more samples": (
        "faster_rcnn",
        attribute(POOL, "RoiAlign", 3, sampling_ratio=3),
        "RoIAlign of level 3",
    ),
    "another scale of a level": (
        "faster_rcnn",
        attribute(POOL, "RoiAlign", 2, spatial_scale=0.0624),
        "spatial_scale 0.0624",
    ),
    "another rule of levels": (
        "faster_rcnn",
        read(POOL, "Div", 1, 224.0, 200.0),
        "canonical scale of the RoI levels (roi_heads.box_roi_pool): PyTorch has 224, the graph 200.0",
    ),
    "a lower highest level": ("faster_rcnn", read(POOL, "Clip", 2, 5.0, 4.0), "highest RoI level"),
    "the final NMS threshold": (
        "faster_rcnn",
        read("roi_heads", "NonMaxSuppression", 3, 0.5, 0.505),
        "NMS threshold (roi_heads): PyTorch has 0.5, the graph 0.505",
    ),
    "the NMS threshold of proposals": (
        "faster_rcnn",
        read("rpn", "NonMaxSuppression", 3, 0.7, 0.69),
        "NMS threshold of proposals (rpn): PyTorch has 0.7, the graph 0.69",
    ),
    "the score threshold": (
        "faster_rcnn",
        read("roi_heads", "Greater", 1, 0.3, 0.305),
        "score threshold (roi_heads): PyTorch has 0.3, the graph 0.305",
    ),
    "one of two least sides": ("faster_rcnn", read("rpn", "GreaterOrEqual", 1, 1e-3, 2e-3), "least side of a proposal"),
    "one of two bounds of scales": ("faster_rcnn", read("roi_heads", "Clip", 2, 4.1351666, 4.0), "log scale of a box"),
    "one of two weights": ("faster_rcnn", read("roi_heads", "Div", 1, 5.0, 5.1), "box weight 5"),
    "fewer proposals": ("faster_rcnn", read("rpn", "TopK", 1, 40, 39), "that rpn keeps"),
    "fewer detections": ("faster_rcnn", read("roi_heads", "TopK", 1, 20, 19), "detections of an image"),
    "the mean of one channel": ("faster_rcnn", numbers("Sub", 1, times(1.001), module="transform"), "image mean"),
    "the deviation of a segmentor": (
        "whole",
        numbers("Div", 1, times(1.001), module=""),
        "image standard deviation (the model): PyTorch has [0.229, 0.224, 0.225], the graph off by up to 0.000229",
    ),
    "the threshold of RetinaNet": ("retina_net", read("", "Greater", 1, 0.3, 0.301), "score threshold (the model)"),
    "the NMS threshold of FCOS": ("fcos", read("", "NonMaxSuppression", 3, 0.6, 0.61), "NMS threshold (the model)"),
    "the threshold of SSD": ("ssd", read("", "Greater", 1, 0.6, 0.59), "score threshold (the model)"),
    "a weight of SSD": ("ssd", read("", "Div", 1, 10.0, 10.1), "box weight 10"),
    "a stride of YOLOv5": ("yolov5", read("", "Mul", 1, 32.0, 31.0), "stride 32 (the model)"),
    "the threshold of YOLOv5": ("yolov5", read("", "Greater", 1, 0.3, 0.31), "score threshold (the model)"),
    "a stride of RotatedFCOS": ("rotated_fcos", read("", "Mul", 1, 32.0, 31.0), "stride 32 (the model)"),
    "the NMS threshold of RotatedFCOS": (
        "rotated_fcos",
        read("", "Mul", 1, 0.3, 0.31),
        "NMS threshold (the model): PyTorch has 0.3, the graph 0.31",
    ),
}


# Mask and Keypoint R-CNN have the constants of Faster R-CNN and a few more.
ON_EVERY_COMMIT = ("faster_rcnn", "ssd", *OF_OUR_OWN, "whole")
FAMILIES = ("faster_rcnn", "mask_rcnn", "keypoint_rcnn", "retina_net", "fcos", "ssd", *OF_OUR_OWN, "whole", "slide")


@pytest.mark.parametrize(
    ("family", "exporter"),
    [
        pytest.param(
            family, exporter, marks=() if exporter == "torchscript" and family in ON_EVERY_COMMIT else pytest.mark.slow
        )
        for exporter in ("torchscript", "dynamo")
        for family in FAMILIES
    ],
)
def test_a_sound_graph_has_the_models_constants(family: str, exporter: str) -> None:
    found = compared(family, graph_of(family, exporter))
    assert len(found) >= 2
    assert [constant.words for constant in found if not constant.passed] == []


# FCOS has the constants of RetinaNet.
@pytest.mark.parametrize("fault", slow_but(FAULTS, *(fault for fault in FAULTS if FAULTS[fault][0] != "fcos")))
@pytest.mark.parametrize("exporter", ["torchscript", pytest.param("dynamo", marks=pytest.mark.slow)])
def test_a_planted_fault_is_named_with_both_values(fault: str, exporter: str) -> None:
    family, plant, words = FAULTS[fault]
    graph = graph_of(family, exporter)
    plant(graph)
    different = [constant for constant in compared(family, graph) if not constant.passed]
    assert len(different) in (1, 2)  # the second: what stands in its place
    assert any(words in constant.words for constant in different), [constant.words for constant in different]
    record = ParityRecord({}, (), constants=tuple(different))
    assert record.failures[0] == f"constants: {different[0].words}"


@pytest.mark.parametrize("family", slow_but(["faster_rcnn", "retina_net", "fcos"], "faster_rcnn", "retina_net"))
def test_anchors_of_a_level_that_no_image_uses_are_compared(family: str) -> None:
    graph = graph_of(family, "torchscript")
    stored(4, coarsest(2))(graph)
    (different,) = [constant for constant in compared(family, graph) if not constant.passed]
    assert different.name == "anchors"
    assert "off by up to 2 (level " in different.found
    assert ": 2 of " in different.found


@pytest.mark.slow
def test_anchors_of_yolov5_and_ssd_are_compared() -> None:
    graph = graph_of("yolov5", "torchscript")
    stored(2, times(1.01))(graph)
    different = [constant.name for constant in compared("yolov5", graph) if not constant.passed]
    assert different
    assert all(name.startswith(("anchors of stride", "cells of stride")) for name in different)
    graph = graph_of("ssd", "torchscript")
    stored(4, coarsest(1))(graph)
    assert [c.name for c in compared("ssd", graph) if not c.passed] == ["anchors"]


def test_fp16_may_round_and_no_more() -> None:
    graph = graph_of("faster_rcnn", "torchscript")
    read("roi_heads", "Greater", 1, 0.3, float(np.float16(0.3)))(graph)
    assert [c.passed for c in compared("faster_rcnn", graph, half=True) if c.name == "score threshold"] == [True]
    assert [c.passed for c in compared("faster_rcnn", graph) if c.name == "score threshold"] == [False]
    for wrong in (np.nextafter(np.float16(0.3), np.float16(0)), np.nextafter(np.float16(0.3), np.float16(1)), 0.305):
        graph = graph_of("faster_rcnn", "torchscript")
        read("roi_heads", "Greater", 1, 0.3, float(np.float16(wrong)))(graph)
        assert [c.passed for c in compared("faster_rcnn", graph, half=True) if c.name == "score threshold"] == [False]


def test_anchors_in_fp16_may_lie_on_the_other_side_of_a_tie() -> None:
    """float32 arithmetic in another order moves a number by a part of the array's largest; a step of fp16 is more."""
    expected = np.array([100.03105, 1000.0])  # fp16 has steps of 1/16 and 1/2 there
    side = GraphSide([], [], half=True)
    assert side.equal(np.float16([100.0625, 1000.0]), expected).all()
    assert side.equal(np.float16([100.125, 1000.0]), expected).tolist() == [False, True]


def test_a_number_that_nobody_declared_is_named() -> None:
    graph = graph_of("retina_net", "torchscript")  # dynamo's graph does not run with one candidate less
    read("", "TopK", 1, 30, 29)(graph)
    different = [constant for constant in compared("retina_net", graph) if not constant.passed]
    assert (different[-1].name, different[-1].found) == ("what TopK reads", "29")


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_the_numbers_in_an_operators_own_loop_are_no_constants_of_the_model(exporter: str) -> None:
    """Quantising makes tensors of the numbers in bodies: the bicubic weights of keypoints compare with 2."""
    graph = graph_of("keypoint_rcnn", exporter)
    for node in graph.graph.node:
        for body in (entry.g for entry in node.attribute if entry.HasField("g")):
            as_tensors(body)
    assert [constant.words for constant in compared("keypoint_rcnn", graph) if not constant.passed] == []


def as_tensors(body: onnx.GraphProto) -> None:
    for node in body.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value_float":
            tensor = numpy_helper.from_array(np.float32(node.attribute[0].f))
            node.attribute[0].CopyFrom(onnx.helper.make_attribute("value", tensor))


@pytest.mark.parametrize(
    ("name", "in_operator"),
    [
        ("heatmap_keypoints/Scan_0", True),
        ("heatmap_keypoints_1/Scan_0", True),
        ("/model/roi_heads/HeatmapKeypoints_output_0/Scan_0", True),
        ("node_Scan_0", False),
        ("/model/mark/Scan_0", False),  # a module of the user's, by the name of an operator
    ],
)
def test_a_reading_says_whether_it_is_in_an_operators_loop(name: str, in_operator: bool) -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        model (float[N, 3] images) => (bool[N, 3] near) {
            near = Scan <num_scan_inputs = 1, body = each (float[3] row) => (bool[3] is_near) {
                two = Constant <value = float {2.0}> ()
                is_near = Less (row, two)
            }> (images)
        }
    """)
    model.graph.node[0].name = name
    (reading,) = read_constants(model, {"images": np.zeros((2, 3), np.float32)}, ["Less"])
    assert (reading.value, reading.in_operator) == (2, in_operator)


def test_a_missing_constant_is_named() -> None:
    graph = graph_of("whole", "torchscript")
    for node in graph.graph.node:
        if node.op_type == "Div":
            node.op_type = "Mul"
    (different,) = [constant for constant in compared("whole", graph) if not constant.passed]
    assert (different.name, different.found) == ("image standard deviation", "no an array [3]")
