"""Every head of mmdetection that has a rewriter, exported: what mmdetection itself finds, at every batch."""

import functools
from pathlib import Path
from typing import Any

import onnxruntime as ort
import pytest
from torch import Tensor

from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx
from tests.small_mmdet_detectors import CLASSES, SECTIONS, SIDES, byte_images, own_results, small
from zoo.families import contract_module, family_of
from zoo.target import AxisRange, Target
from zoo.tasks import build_task

pytestmark = [
    pytest.mark.openmmlab,
    pytest.mark.filterwarnings("ignore"),  # mmdetection's own, of every kind
]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

CLASS_LIST = [{"name": str(index), "category_id": index} for index in range(CLASSES)]
TASK = build_task({"type": "Detection", "classes": CLASS_LIST})
AXES = {
    "batch": AxisRange(1, 2, 4),
    "height": AxisRange.fixed(SIDES[0]),
    "width": AxisRange.fixed(SIDES[1]),
}
BY_DYNAMO = ("retinanet", "faster_rcnn")
CASES = (
    *((name, "torchscript") for name in SECTIONS),
    *(pytest.param(name, "dynamo", marks=pytest.mark.slow) for name in BY_DYNAMO),
)

detector = functools.cache(small)


def expected_outputs(contract: Any, images: Tensor) -> dict[str, Any]:
    """mmdetection's own results as the tensors of level final."""
    instances = own_results(contract.model, images)
    most = contract.num_slots
    dictionaries = [
        {"boxes": one.bboxes[:most], "scores": one.scores[:most], "labels": one.labels[:most]} for one in instances
    ]
    names = [spec.name for spec in contract.outputs(TASK, "final")]
    return dict(zip(names, [tensor.numpy() for tensor in contract.tensors(dictionaries)], strict=True))


@pytest.mark.parametrize(("name", "exporter"), CASES)
def test_the_graph_finds_what_mmdetection_finds(name: str, exporter: str, tmp_path: Path) -> None:
    contract = contract_module(detector(name), TASK, "final", {})
    path = tmp_path / "model.onnx"
    specs = contract.outputs(TASK, "final")
    example = {"images": byte_images(2) / 255}
    export_onnx(contract, Target(AXES, exporter=exporter), path, example=example, output_specs=specs, other_sizes=False)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    rule = family_of(contract.model).decision_rule(contract.model)
    for count, first in ((1, 3), (3, 0)):
        images = byte_images(count, first)
        expected = expected_outputs(contract, images)
        assert expected["num_dets"].min() >= 3
        names = list(expected)
        got = dict(zip(names, session.run(names, {"images": (images / 255).numpy()}), strict=True))
        findings = compare_outputs(TASK, "final", expected, got, merged_gates({})["graph"], rule)
        assert not findings.failures
        assert findings.matched
        assert len(findings.borderline) <= 1
