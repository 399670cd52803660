"""mmdetection's detectors with a dynamic height and width, as configs with `keep_ratio=True` come to."""

import functools
from pathlib import Path

import onnxruntime as ort
import pytest
import torch
import torch.nn.functional as F

from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx
from tests.rewriters.mmdetection.expected import TASK, expected_outputs
from tests.small_mmdet import byte_images, small
from zoo.families import contract_module, family_of
from zoo.target import AxisRange, Target

pytestmark = [pytest.mark.openmmlab, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

AXES = {"batch": AxisRange(1, 2, 4), "height": AxisRange(64, 64, 160), "width": AxisRange(64, 96, 160)}
ONE_OF_EACH_KIND = ("retinanet", "faster_rcnn")
detector = functools.cache(small)


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_the_graph_takes_other_sizes(name: str, tmp_path: Path) -> None:
    contract = contract_module(detector(name), TASK, "final", {})
    path = tmp_path / "model.onnx"
    specs = contract.outputs(TASK, "final")
    example = {"images": byte_images(2) / 255}
    target = Target(AXES, exporter="torchscript")
    export_onnx(contract, target, path, example=example, output_specs=specs, other_sizes=False)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    rule = family_of(contract.model).decision_rule(contract.model)
    for size in ((64, 96), (128, 96)):
        larger = F.interpolate(byte_images(3).float(), size, mode="bilinear").round()
        images = larger.to(torch.uint8)
        expected = expected_outputs(contract, images)
        names = list(expected)
        got = dict(zip(names, session.run(names, {"images": (images / 255).numpy()}), strict=True))
        findings = compare_outputs(TASK, "final", expected, got, merged_gates({})["graph"], rule)
        assert not findings.failures, size
        assert findings.matched
        assert len(findings.borderline) <= 2
