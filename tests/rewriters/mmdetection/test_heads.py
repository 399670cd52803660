"""Every head of mmdetection that has a rewriter, exported: what mmdetection itself finds, at every batch."""

import functools
from pathlib import Path

import onnxruntime as ort
import pytest

from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx
from tests.rewriters.mmdetection.expected import AXES, TASK, expected_outputs
from tests.small_mmdet import SECTIONS, byte_images, small
from zoo.families import contract_module, family_of
from zoo.target import Target

pytestmark = [
    pytest.mark.openmmlab,
    pytest.mark.filterwarnings("ignore"),  # mmdetection's own, of every kind
]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

BY_DYNAMO = ("retinanet", "faster_rcnn")
CASES = (
    *((name, "torchscript") for name in SECTIONS),
    *(pytest.param(name, "dynamo", marks=pytest.mark.slow) for name in BY_DYNAMO),
)

detector = functools.cache(small)


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
