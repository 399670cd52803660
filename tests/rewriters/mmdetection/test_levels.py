"""Levels decoded and raw of mmdetection's heads: before thresholds and NMS."""

import functools
from pathlib import Path
from typing import Any

import onnxruntime as ort
import pytest
import torch

from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx
from tests.rewriters.mmdetection.exported import AXES, DYNAMIC, SIZES, TASK, task_of
from tests.small_mmdet import CLASSES, SIDES, byte_images, own_results, resized, small
from zoo.comparison.rows import RowGate, compare_rows
from zoo.errors import InputError
from zoo.families import contract_module, family_of
from zoo.target import Target
from zoo.tensor_spec import TensorSpec

pytestmark = [
    pytest.mark.openmmlab,
    pytest.mark.filterwarnings("ignore"),  # mmdetection's own, of every kind
]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

PAIRS = ("retinanet", "fsaf", "fcos", "atss", "gfl", "vfnet", "rtmdet", "ssd", "fovea", "reppoints", "yolov3")
"""Those whose candidates are pairs of a prior and a class."""
QUERIES = ("detr", "deformable_detr", "dino")
TWO_STAGES = ("faster_rcnn", "cascade_rcnn", "mask_rcnn", "cascade_mask_rcnn")
"""Those whose rows are proposals."""
HEADS = (*PAIRS, "yolox", "paa", *QUERIES, *TWO_STAGES)
FACTORS = {
    **dict.fromkeys(("fcos", "atss", "paa"), "score_factors"),
    **dict.fromkeys(("yolox", "yolov3"), "objectnesses"),
}
LEVELS = ("decoded", "raw")
EVERY = 1_000_000
ROOM = 600  # slots of proposals
GATES: dict[str, dict[str, Any]] = {"rtmdet": {"graph": {"logits": 2e-4}}}
"""Its codes are powers, for one image up to 423: PyTorch's own float32 is 0.8e-4 of that from its float64. Two such
sides may be twice as far apart; 1.3e-4 was the most, with AVX2 and AVX-512, one thread and two."""

detector = functools.cache(small)


def by_exporter(*names: str) -> list[Any]:
    slow = [pytest.param(name, "dynamo", marks=pytest.mark.slow) for name in names]
    return [*((name, "torchscript") for name in names), *slow]


def check_export(name: str, target: Target, path: Path, *batches: dict[str, torch.Tensor], model: Any = None) -> None:
    """The graph of the first of the batches gives for each what the unpatched model gives."""
    model, task, level = model or detector(name), task_of(name), target.level
    contract = contract_module(model, task, level, {})
    names = [spec.name for spec in contract.outputs(task, level)]
    with torch.no_grad():
        expected = [dict(zip(names, contract(*batch.values()), strict=True)) for batch in batches]
    specs = [TensorSpec(name, "float32", ("N", "M", *tensor.shape[2:])) for name, tensor in expected[0].items()]
    export_onnx(contract, target, path, example=batches[0], output_specs=specs, other_sizes=False)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    gates = merged_gates(GATES.get(name, {}), own=task.own_gates)["graph"]
    rule = family_of(model).decision_rule(model)
    for batch, tensors in zip(batches, expected, strict=True):
        outputs = session.run(names, {key: tensor.numpy() for key, tensor in batch.items()})
        reference = {key: tensor.numpy() for key, tensor in tensors.items()}
        findings = compare_outputs(task, level, reference, dict(zip(names, outputs, strict=True)), gates, rule)
        assert not findings.failures
        assert not findings.blank


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "exporter"), by_exporter(*HEADS))
def test_the_graph_gives_what_the_model_gives(name: str, exporter: str, level: str, tmp_path: Path) -> None:
    batches = [{"images": byte_images(count, first) / 255} for count, first in ((2, 0), (1, 3), (3, 0))]
    check_export(name, Target(AXES, exporter=exporter, level=level), tmp_path / "model.onnx", *batches)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("name", "exporter"), by_exporter("retinanet", "gfl", "yolov3", "detr", "dino", "cascade_mask_rcnn")
)
def test_of_padded_batches_of_any_size(name: str, exporter: str, level: str, tmp_path: Path) -> None:
    first = {"images": byte_images(2) / 255, "image_sizes": torch.tensor(SIZES[:2])}
    other = {
        "images": resized(byte_images(3), (128, 64)) / 255,
        "image_sizes": torch.tensor([[100, 64], [128, 50], [90, 60]]),
    }
    target = Target(DYNAMIC, exporter=exporter, level=level, image_sizes=True)
    check_export(name, target, tmp_path / "model.onnx", first, other)


def decoded(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Boxes and scores of the level."""
    with torch.no_grad():
        boxes, scores = contract_module(detector(name), TASK, "decoded", {})(byte_images(2) / 255)
    return boxes, scores


def candidates(name: str, **options: Any) -> list[Any]:
    """What mmdetection's own predict_by_feat makes of the same images without thresholds."""
    from mmengine.config import ConfigDict

    model = detector(name)
    head = model.model.bbox_head
    off = ConfigDict({**head.test_cfg, "nms_pre": EVERY, "score_thr": -1.0, "conf_thr": -1.0, "min_bbox_size": -1})
    metas = [{"img_shape": SIDES, "pad_shape": SIDES, "batch_input_shape": SIDES}] * 2
    with torch.no_grad():
        maps = head(model.model.extract_feat(model.padded(model.normalised(byte_images(2) / 255, None))))
        results: list[Any] = head.predict_by_feat(*maps, batch_img_metas=metas, cfg=off, **options)
    return results


def check_rows(own_boxes: torch.Tensor, own_scores: torch.Tensor, boxes: torch.Tensor, scores: torch.Tensor) -> None:
    """Boxes [M, 4] and scores [M] of mmdetection and of the level, in any order."""
    sides = ((own_boxes, own_scores), (boxes, scores))
    expected, actual = ({"boxes": one[None].numpy(), "scores": two[None, :, None].numpy()} for one, two in sides)
    assert not compare_rows(expected, actual, {"boxes": RowGate(1e-3), "scores": RowGate(1e-6)}).failures


@pytest.mark.parametrize("name", PAIRS)
def test_boxes_and_scores_are_those_of_mmdetections_own_candidates(name: str) -> None:
    """Without thresholds and NMS, mmdetection's predict_by_feat gives each pair of a prior and a class."""
    boxes, scores = decoded(name)
    for image, result in enumerate(candidates(name, with_nms=False)):
        for label in range(CLASSES):
            own = result.labels == label
            check_rows(result.bboxes[own], result.scores[own], boxes[image], scores[image, :, label])


def test_the_best_classes_are_those_of_yoloxs_own_candidates() -> None:
    boxes, scores = decoded("yolox")
    for image, result in enumerate(candidates("yolox", with_nms=False)):
        best, labels = scores[image].max(dim=-1)
        check_rows(result.bboxes, result.scores, boxes[image], best)
        assert torch.equal(result.labels, labels)


@pytest.mark.parametrize("name", QUERIES)
def test_the_best_queries_are_those_of_mmdetections_own_results(name: str) -> None:
    """DETR takes the best class of each query, the others the best pairs; the boxes of both are those of the level."""
    boxes, scores = decoded(name)
    sizes = [(SIDES[0], SIDES[1])] * 2
    for image, result in enumerate(own_results(detector(name), byte_images(2), sizes)):
        pairs = scores[image].amax(dim=-1, keepdim=True) if name == "detr" else scores[image]
        best = pairs.flatten().topk(len(result.scores))
        rows = best.indices // pairs.shape[-1]
        check_rows(result.bboxes, result.scores, boxes[image][rows], best.values)
        assert torch.equal(
            result.labels, scores[image][rows].argmax(dim=-1) if name == "detr" else best.indices % CLASSES
        )


def with_room(name: str) -> Any:
    """A model of two stages that has more slots than it gives proposals."""
    model = small(name)
    model.model.rpn_head.test_cfg.max_per_img = ROOM
    return model


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["faster_rcnn", "cascade_rcnn"])
def test_slots_without_a_proposal_are_empty_in_the_graph(name: str, level: str, tmp_path: Path) -> None:
    batches = [{"images": byte_images(count, first) / 255} for count, first in ((2, 0), (3, 0))]
    target = Target(AXES, exporter="torchscript", level=level)
    check_export(name, target, tmp_path / "model.onnx", *batches, model=with_room(name))


@pytest.mark.parametrize("name", TWO_STAGES)
def test_boxes_of_each_class_are_those_of_mmdetections_own_predict_bbox(name: str) -> None:
    """Without a test_cfg it gives all boxes of all proposals. The slots that are left hold zeros."""
    model = with_room(name)
    images = byte_images(2) / 255
    with torch.no_grad():
        boxes, scores = contract_module(model, TASK, "decoded", {})(images)
    samples = model.samples(images, None)
    with torch.no_grad():
        features = model.model.extract_feat(model.padded(model.normalised(images, None)))
        proposals = model.model.rpn_head.predict(features, samples, rescale=False)
        metas = [sample.metainfo for sample in samples]
        results = model.model.roi_head.predict_bbox(features, metas, proposals, rcnn_test_cfg=None)
    for image, result in enumerate(results):
        count = len(proposals[image])
        assert 0 < count < boxes.shape[1]
        own = result.bboxes.reshape(count, -1, 4).expand(-1, CLASSES, -1)
        for label in range(CLASSES):
            check_rows(
                own[:, label], result.scores[:, label], boxes[image, :count, label], scores[image, :count, label]
            )
        assert not boxes[image, count:].any()
        assert not scores[image, count:].any()


@pytest.mark.parametrize("name", TWO_STAGES)
def test_without_a_proposal_all_slots_are_empty(name: str) -> None:
    model = small(name)
    images, shapes = byte_images(2) / 255, {}
    for least in (0, EVERY):  # side of a proposal
        model.model.rpn_head.test_cfg.min_bbox_size = least
        with torch.no_grad():
            tensors = [t for level in LEVELS for t in contract_module(model, task_of(name), level, {})(images)]
        shapes[least] = [tensor.shape for tensor in tensors]
    assert shapes[0] == shapes[EVERY]
    assert not any(tensor.any() for tensor in tensors)


def test_boxes_and_scores_are_those_that_vote_in_paa(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes, scores = decoded("paa")
    head = detector("paa").model.bbox_head
    monkeypatch.setattr(head, "_bbox_post_process", lambda results, *_arguments: results)
    for image, result in enumerate(candidates("paa")):
        expected = (result.scores * result.score_factors[:, None]).sqrt()
        for label in range(CLASSES):
            check_rows(result.bboxes, expected[:, label], boxes[image], scores[image, :, label])


@pytest.mark.parametrize("name", HEADS)
def test_raw_has_factors_where_the_head_gives_some(name: str) -> None:
    names = [spec.name for spec in contract_module(detector(name), TASK, "raw", {}).outputs(TASK, "raw")]
    first = ["proposals"] if name in TWO_STAGES else []
    assert names == [*first, "cls_scores", "bbox_preds", *([FACTORS[name]] if name in FACTORS else [])]


@pytest.mark.parametrize("level", LEVELS)
def test_another_head_is_refused_by_name(level: str) -> None:
    words = "CenterNetHead of mmdetection has neither, and level final alone; heads that have them inherit"
    with pytest.raises(InputError, match=words):
        contract_module(detector("centernet"), TASK, level, {})


@pytest.mark.parametrize("method", ["predict", "predict_bbox"])
def test_a_roi_head_with_a_way_of_its_own_is_refused_by_name(method: str) -> None:
    model = small("faster_rcnn")
    head = model.model.roi_head
    head.__class__ = type("OwnRoIHead", (type(head),), {method: lambda *_arguments, **_options: None})
    with pytest.raises(InputError, match="OwnRoIHead of mmdetection has neither"):
        contract_module(model, TASK, "decoded", {})


def test_a_box_head_with_a_way_of_its_own_is_refused() -> None:
    model = small("cascade_rcnn")
    last = model.model.roi_head.bbox_head[-1]
    last.__class__ = type("OwnBBoxHead", (type(last),), {"predict_by_feat": lambda *_arguments, **_options: None})
    with pytest.raises(InputError, match="CascadeRoIHead of mmdetection has neither"):
        contract_module(model, TASK, "raw", {})
