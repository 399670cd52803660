"""Levels decoded and raw of mmdetection's dense heads: before thresholds and NMS."""

import functools
from pathlib import Path
from typing import Any

import onnxruntime as ort
import pytest
import torch

from pipeline.export.output_specs import output_specs
from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import GraphReference
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx
from tests.rewriters.mmdetection.exported import AXES, DYNAMIC, SIZES, TASK
from tests.small_mmdet import CLASSES, SIDES, byte_images, resized, small
from zoo.comparison.rows import RowGate, compare_rows
from zoo.errors import InputError
from zoo.families import contract_module, family_of
from zoo.target import Target

pytestmark = [
    pytest.mark.openmmlab,
    pytest.mark.filterwarnings("ignore"),  # mmdetection's own, of every kind
]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

HEADS = ("retinanet", "fsaf", "fcos", "atss", "gfl", "vfnet", "rtmdet", "ssd")
WITH_FACTORS = ("fcos", "atss")
LEVELS = ("decoded", "raw")
EVERY = 1_000_000
GATES: dict[str, dict[str, Any]] = {"rtmdet": {"graph": {"logits": 3e-4}}}
"""Its codes are powers, for one image up to 423: PyTorch's own float32 is 0.8e-4 of that from its float64."""

detector = functools.cache(small)


def by_exporter(*names: str) -> list[Any]:
    slow = [pytest.param(name, "dynamo", marks=pytest.mark.slow) for name in names]
    return [*((name, "torchscript") for name in names), *slow]


def check_export(name: str, target: Target, path: Path, *batches: dict[str, torch.Tensor]) -> None:
    """The graph of the first of the batches gives for each what the unpatched model gives."""
    model, level = detector(name), target.level
    contract = contract_module(model, TASK, level, {})
    outputs = contract.outputs(TASK, level)
    references = []
    for batch in batches:
        with torch.no_grad():
            tensors = [tensor.numpy() for tensor in contract(*batch.values())]
        given = GraphInput((), {key: tensor.numpy() for key, tensor in batch.items()})
        references.append(GraphReference(given, dict(zip([one.name for one in outputs], tensors, strict=True))))
    specs = output_specs(outputs, target, references)
    export_onnx(contract, target, path, example=batches[0], output_specs=specs, other_sizes=False)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    gates = merged_gates(GATES.get(name, {}), own=TASK.own_gates)["graph"]
    for reference in references:
        names = list(reference.outputs)
        actual = dict(zip(names, session.run(names, reference.given.arrays), strict=True))
        rule = family_of(model).decision_rule(model)
        findings = compare_outputs(TASK, level, reference.outputs, actual, gates, rule)
        assert not findings.failures
        assert not findings.blank


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "exporter"), by_exporter(*HEADS))
def test_the_graph_gives_what_the_model_gives(name: str, exporter: str, level: str, tmp_path: Path) -> None:
    batches = [{"images": byte_images(count, first) / 255} for count, first in ((2, 0), (1, 3), (3, 0))]
    check_export(name, Target(AXES, exporter=exporter, level=level), tmp_path / "model.onnx", *batches)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "exporter"), by_exporter("retinanet", "gfl"))
def test_of_padded_batches_of_any_size(name: str, exporter: str, level: str, tmp_path: Path) -> None:
    first = {"images": byte_images(2) / 255, "image_sizes": torch.tensor(SIZES[:2])}
    other = {
        "images": resized(byte_images(3), (128, 64)) / 255,
        "image_sizes": torch.tensor([[100, 64], [128, 50], [90, 60]]),
    }
    target = Target(DYNAMIC, exporter=exporter, level=level, image_sizes=True)
    check_export(name, target, tmp_path / "model.onnx", first, other)


@pytest.mark.parametrize("name", HEADS)
def test_boxes_and_scores_are_those_of_mmdetections_own_candidates(name: str) -> None:
    """Without thresholds and NMS, mmdetection's predict_by_feat gives each pair of a prior and a class."""
    from mmengine.config import ConfigDict

    model, images = detector(name), byte_images(2) / 255
    head = model.model.bbox_head
    off = ConfigDict({**head.test_cfg, "nms_pre": EVERY, "score_thr": -1.0, "min_bbox_size": -1})
    metas = [{"img_shape": SIDES, "pad_shape": SIDES, "batch_input_shape": SIDES}] * 2
    with torch.no_grad():
        boxes, scores = contract_module(model, TASK, "decoded", {})(images)
        maps = head(model.model.extract_feat(model.padded(model.normalised(images, None))))
        results = head.predict_by_feat(*maps, batch_img_metas=metas, cfg=off, with_nms=False)
    for image, result in enumerate(results):
        for label in range(CLASSES):
            own = result.labels == label
            expected = {"boxes": result.bboxes[own][None].numpy(), "scores": result.scores[own][None, :, None].numpy()}
            actual = {"boxes": boxes[image, None].numpy(), "scores": scores[image, None, :, label, None].numpy()}
            findings = compare_rows(expected, actual, {"boxes": RowGate(1e-3), "scores": RowGate(1e-6)})
            assert not findings.failures


@pytest.mark.parametrize("name", HEADS)
def test_raw_has_factors_where_the_head_gives_some(name: str) -> None:
    names = [spec.name for spec in contract_module(detector(name), TASK, "raw", {}).outputs(TASK, "raw")]
    assert names == ["cls_scores", "bbox_preds", *["score_factors"] * (name in WITH_FACTORS)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("yolox", "YOLOXHead of mmdetection has neither, and level final alone; heads that have them inherit"),
        ("faster_rcnn", "FasterRCNN of mmdetection has neither, and level final alone"),
        ("detr", "DETRHead of mmdetection has neither, and level final alone"),
    ],
)
def test_other_heads_are_refused_by_name(name: str, words: str, level: str) -> None:
    with pytest.raises(InputError, match=words):
        contract_module(detector(name), TASK, level, {})
