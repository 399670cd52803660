"""Graphs with plugin nodes, run by the reference implementations, against the unpatched YOLOv5."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor

from pipeline.parity.gates import GRAPH
from rewriters.graph_rewriters import rewrite_graph
from rewriters.plugins import PLUGIN_DOMAIN, plugin_nodes, reference_evaluator
from rewriters.plugins.greedy_nms import class_nms
from tests.examples import slow_but
from tests.rewriters.small_families import outputs
from tests.rewriters.small_models import export, fixed_target, run
from tests.rewriters.small_yolov5 import ANCHORS, CLASSES, SIZE, SLOTS, contract, scenes, small_yolov5
from tests.rewriters.yolov5.test_padded_yolov5 import DYNAMIC, SPECS
from zoo.errors import ExportError, InputError

FLAT = [float(value) for level in ANCHORS for pair in level for value in pair]
DECODE: dict[str, Any] = {
    "name": "yolo_decode_plugin",
    "anchors": FLAT,
    "num_classes": CLASSES,
    "prenms_score_threshold": 0.3,
}
NMS: dict[str, Any] = {
    "name": "efficient_nms_plugin",
    "score_threshold": 0.3,
    "iou_threshold": 0.5,
    "max_output_boxes": SLOTS,
    "best_class_only": True,
}
LEVELS = ("raw", "decoded")


# one of them in make test: the reference evaluator runs whole networks in numpy
FORMS = slow_but(
    [f"{level}-{size}" for level in LEVELS for size in ("fixed", "dynamic")],
    "raw-dynamic",
)


@pytest.fixture(scope="module", params=FORMS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, onnx.ModelProto]:
    level, _, size = request.param.partition("-")
    target = DYNAMIC if size == "dynamic" else fixed_target(*SIZE)
    path = tmp_path_factory.mktemp("graph") / "m.onnx"
    export(contract(small_yolov5(), level), target.with_(exporter="torchscript", level=level), path, SPECS[level])
    return level, onnx.load(path)


@pytest.fixture(scope="module")
def decoded(tmp_path_factory: pytest.TempPathFactory) -> onnx.ModelProto:
    path = tmp_path_factory.mktemp("graph") / "m.onnx"
    target = fixed_target(*SIZE, exporter="torchscript", level="decoded")
    export(contract(small_yolov5(), "decoded"), target, path, SPECS["decoded"])
    return onnx.load(path)


def expected(images: Tensor, **options: Any) -> Iterator[dict[str, Tensor]]:
    with torch.no_grad():
        yield from small_yolov5(topk_candidates=10_000, **options)(images)


def test_one_decode_node_takes_the_place_of_the_head(exported: tuple[str, onnx.ModelProto]) -> None:
    _, graph = exported
    plugin, (record,) = rewrite_graph(graph, [DECODE])
    onnx.checker.check_model(plugin, full_check=True)
    (node,) = plugin_nodes(plugin)
    given = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    assert given == {
        "anchors": FLAT,
        "max_stride": 32,
        "num_classes": CLASSES,
        "prenms_score_threshold": pytest.approx(0.3),
    }
    assert [value.name for value in plugin.graph.output] == list(node.output)
    assert list(node.output) == [
        f"Decode{name}" for name in ("NumDetection", "DetectionBoxes", "DetectionScores", "DetectionClasses")
    ]
    assert "replaced by one YoloLayer_TRT" in record.changes[0]
    assert {entry.domain for entry in plugin.opset_import} == {"", PLUGIN_DOMAIN}
    again, (nothing,) = rewrite_graph(plugin, [DECODE])
    assert (again.SerializeToString(), nothing.changes) == (plugin.SerializeToString(), ())


def test_the_decode_node_gives_the_detections_of_the_model(exported: tuple[str, onnx.ModelProto]) -> None:
    _, graph = exported
    plugin, _ = rewrite_graph(graph, [DECODE])
    images = scenes(2, *SIZE, seed=3)
    same_detections(decoded_sets(plugin, images), images)


def decoded_sets(plugin: onnx.ModelProto, images: Tensor) -> list[tuple[np.ndarray, ...]]:
    """Detections of each image after the NMS that follows the plugin."""
    found = []
    for num, boxes, scores, classes in zip(
        *reference_evaluator(plugin).run(None, {"images": images.numpy()}), strict=True
    ):
        count = int(num[0])
        assert not scores[count:].any()
        used = np.flatnonzero(scores[:count] > 0.3)
        kept = used[class_nms(boxes[used], scores[used], classes[used], 0.5)][:SLOTS]
        found.append((boxes[kept], scores[kept], classes[kept]))
    return found


def same_detections(found: list[tuple[np.ndarray, ...]], images: Tensor) -> None:
    for (boxes, scores, labels), want in zip(found, expected(images), strict=True):
        assert len(boxes) >= 5
        np.testing.assert_array_equal(labels, want["labels"].numpy())
        np.testing.assert_allclose(boxes, want["boxes"].numpy(), atol=GRAPH["boxes"])
        np.testing.assert_allclose(scores, want["scores"].numpy(), atol=GRAPH["scores"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        {"anchors": [*FLAT[2:4], *FLAT[:2], *FLAT[4:]]},  # two anchors of a level changed places
        {"anchors": [*FLAT[6:12], *FLAT[:6], *FLAT[12:]]},  # two levels did
        {"anchors": [FLAT[0] + 1, *FLAT[1:]]},
        {"max_stride": 31},
        {"max_stride": 33},
        {"prenms_score_threshold": 0.6},
    ],
    ids=["anchor order", "level order", "one pixel", "stride - 1", "stride + 1", "threshold"],
)
def test_attributes_wrong_by_one_are_found(decoded: onnx.ModelProto, wrong: dict[str, Any]) -> None:
    plugin, _ = rewrite_graph(decoded, [{**DECODE, **wrong}])
    images = scenes(4, *SIZE, seed=3)
    with pytest.raises(AssertionError, match="Arrays are not equal|Not equal to tolerance"):
        same_detections(decoded_sets(plugin, images), images)


@pytest.mark.parametrize(
    ("form", "agnostic"),
    slow_but([("plugin", False), ("plugin", True), ("onnx", False), ("onnx", True)], ("plugin", False), ("onnx", True)),
)
def test_nms_behind_the_decoded_graph_gives_the_contract(
    decoded: onnx.ModelProto, form: str, agnostic: bool, tmp_path: Path
) -> None:
    final, (record,) = rewrite_graph(decoded, [{**NMS, "form": form, "class_agnostic": agnostic}])
    onnx.checker.check_model(final, full_check=True)
    images = scenes(3, *SIZE, seed=4)
    want = outputs(contract(small_yolov5(class_agnostic=agnostic, topk_candidates=10_000)), images)
    assert 0 < want[0].min() < SLOTS
    if form == "onnx":
        onnx.save(final, tmp_path / "m.onnx")
        got = run(tmp_path / "m.onnx", images)
        assert not plugin_nodes(final)
    else:
        got = reference_evaluator(final).run(None, {"images": images.numpy()})
        assert [node.op_type for node in plugin_nodes(final)] == ["EfficientNMS_TRT"]
    for array, tensor in zip(got, want, strict=True):
        assert array.dtype == tensor.numpy().dtype
        np.testing.assert_allclose(array, tensor.numpy(), atol=GRAPH["boxes" if array.ndim == 3 else "scores"])
    assert "put behind boxes and scores" in record.changes[0]
    again, (nothing,) = rewrite_graph(final, [{**NMS, "form": form}])
    assert (again.SerializeToString(), nothing.changes) == (final.SerializeToString(), ())


@pytest.mark.parametrize("form", slow_but(["plugin", "onnx"], "onnx"))
def test_every_class_of_an_anchor_is_a_candidate_by_default(
    decoded: onnx.ModelProto, form: str, tmp_path: Path
) -> None:
    """As in RetinaNet and FCOS; both forms agree."""
    final, _ = rewrite_graph(decoded, [{**NMS, "best_class_only": False, "form": form}])
    images = scenes(2, *SIZE, seed=4)
    boxes, scores = (tensor.numpy() for tensor in outputs(contract(small_yolov5(), "decoded"), images))
    if form == "onnx":
        onnx.save(final, tmp_path / "m.onnx")
        got = run(tmp_path / "m.onnx", images)
    else:
        got = reference_evaluator(final).run(None, {"images": images.numpy()})
    for image in range(2):
        row, label = np.nonzero(scores[image] > 0.3)
        kept = class_nms(boxes[image, row], scores[image, row, label], label, 0.5)[:SLOTS]
        assert int(got[0][image]) == len(kept)
        np.testing.assert_allclose(got[2][image, : len(kept)], scores[image, row, label][kept], atol=GRAPH["scores"])


@pytest.mark.parametrize("form", ["plugin", "onnx"])
def test_an_image_without_any_candidate(decoded: onnx.ModelProto, form: str, tmp_path: Path) -> None:
    final, _ = rewrite_graph(decoded, [{**NMS, "score_threshold": 0.9999, "form": form}])
    images = scenes(1, *SIZE)
    if form == "onnx":
        onnx.save(final, tmp_path / "m.onnx")
        num, boxes, scores, labels = run(tmp_path / "m.onnx", images)
    else:
        num, boxes, scores, labels = reference_evaluator(final).run(None, {"images": images.numpy()})
    assert num.tolist() == [0]
    assert not boxes.any()
    assert not scores.any()
    assert (labels == -1).all()


class TestRefusals:
    def test_another_number_of_classes(self, decoded: onnx.ModelProto) -> None:
        with pytest.raises(
            ExportError, match=r"0 maps of 42 channels .* channels there are: .*24.*; is num_classes=9 right"
        ):
            rewrite_graph(decoded, [{**DECODE, "num_classes": 9}])

    def test_another_number_of_anchors(self, decoded: onnx.ModelProto) -> None:
        with pytest.raises(InputError, match="got 17 anchor values, expected 18"):
            rewrite_graph(decoded, [{**DECODE, "anchors": FLAT[1:]}])

    def test_nms_behind_another_level(self, decoded: onnx.ModelProto) -> None:
        plugin, _ = rewrite_graph(decoded, [DECODE])
        with pytest.raises(ExportError, match=r"expected the outputs boxes \[N, M, 4\] .* the graph has DecodeNum"):
            rewrite_graph(plugin, [NMS])

    def test_an_unknown_form(self, decoded: onnx.ModelProto) -> None:
        with pytest.raises(InputError, match='form "trt"; expected plugin or onnx'):
            rewrite_graph(decoded, [{**NMS, "form": "trt"}])


def test_the_numpy_nms_keeps_what_torchvision_keeps() -> None:
    from torchvision.ops import batched_nms

    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        corners = torch.rand(80, 2, generator=generator) * 50
        boxes = torch.cat((corners, corners + torch.rand(80, 2, generator=generator) * 30), dim=1)
        scores = torch.randint(0, 40, (80,), generator=generator) / 40
        scores = scores + torch.arange(80) * -1e-4  # torchvision promises no order of equal scores
        labels = torch.randint(0, 3, (80,), generator=generator)
        want = batched_nms(boxes, scores, labels, 0.4)
        got = class_nms(boxes.numpy(), scores.numpy(), labels.numpy(), 0.4)
        assert got.tolist() == want.tolist()


def test_of_equal_scores_the_lowest_index_is_kept() -> None:
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [20, 0, 30, 10]], np.float32)
    assert class_nms(boxes, np.full(3, 0.5, np.float32), np.zeros(3, int), 0.5).tolist() == [0, 2]


DECODED = """
    small (bool[1] flag, float[N, M, 4] given, float[N, M, 2] labels)
        => (float[N, M, 4] boxes, float[N, M, 2] scores)
    {
        boxes = Identity(given)
        num_dets = Sigmoid(labels)
        once = Squeeze(flag)
        scores = If(once) <then_branch = a () => (float[N, M, 2] t) { t = Identity(num_dets) },
                           else_branch = b () => (float[N, M, 2] e) { e = Neg(num_dets) }>
    }
"""


@pytest.mark.parametrize("opset", [17, 18, 24])
@pytest.mark.parametrize("form", ["plugin", "onnx"])
@pytest.mark.parametrize("agnostic", [False, True])
def test_nms_behind_any_graph_of_level_decoded(form: str, agnostic: bool, opset: int) -> None:
    """The contract's names are taken inside, a subgraph reads one of them; old and new opsets."""
    graph = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]>\n{DECODED}'.replace("labels", "x"))
    step = {**NMS, "form": form, "class_agnostic": agnostic, "score_threshold": 0, "max_output_boxes": 4}
    final, _ = rewrite_graph(graph, [step])
    onnx.checker.check_model(final, full_check=True)
    assert sum(entry.domain == PLUGIN_DOMAIN for entry in final.opset_import) == (form == "plugin")


@pytest.mark.slow
def test_a_threshold_of_zero_makes_no_candidates_of_other_classes(decoded: onnx.ModelProto) -> None:
    step = {**NMS, "score_threshold": 0.0, "iou_threshold": 1.0, "max_output_boxes": 2000}
    images = scenes(1, *SIZE)
    final, _ = rewrite_graph(decoded, [step])
    num, *_ = reference_evaluator(final).run(None, {"images": images.numpy()})
    anchors = outputs(contract(small_yolov5(), "decoded"), images)[1].shape[1]
    assert num.tolist() == [anchors]


def test_whole_numbers_are_anchors_too(decoded: onnx.ModelProto) -> None:
    plugin, _ = rewrite_graph(decoded, [{**DECODE, "anchors": [int(value) for value in FLAT]}])
    assert len(plugin_nodes(plugin)) == 1
