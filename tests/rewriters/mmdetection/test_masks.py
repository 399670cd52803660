"""mmdetection's RoI heads with masks, exported: the boxes and masks that mmdetection itself finds."""

import functools
from pathlib import Path

import onnxruntime as ort
import pytest
import torch

from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx
from tests.rewriters.mmdetection.expected import AXES, CLASS_LIST
from tests.small_mmdet import SIDES, WITH_MASKS, byte_images, own_results, small
from zoo.families import contract_module, family_of
from zoo.target import Target
from zoo.tasks import build_task
from zoo.tasks.instance_segmentation.sampled_pasting import sampled_masks

pytestmark = [pytest.mark.openmmlab, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

TASK = build_task({"type": "InstanceSegmentation", "classes": CLASS_LIST, "sampled_masks": True})
detector = functools.cache(small)


@pytest.mark.parametrize("name", WITH_MASKS)
def test_the_graph_gives_the_masks_of_its_boxes(name: str, tmp_path: Path) -> None:
    contract = contract_module(detector(name), TASK, "final", {})
    path = tmp_path / "model.onnx"
    specs = contract.outputs(TASK, "final")
    example = {"images": byte_images(2) / 255}
    target = Target(AXES, exporter="torchscript")
    export_onnx(contract, target, path, example=example, output_specs=specs, other_sizes=False)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    rule = family_of(contract.model).decision_rule(contract.model)
    names = [spec.name for spec in specs]
    for count, first in ((1, 3), (3, 0)):
        images = byte_images(count, first) / 255
        with torch.no_grad():
            expected = dict(zip(names, [tensor.numpy() for tensor in contract(images)], strict=True))
        got = dict(zip(names, session.run(names, {"images": images.numpy()}), strict=True))
        findings = compare_outputs(TASK, "final", expected, got, merged_gates({})["graph"], rule)
        assert not findings.failures
        assert findings.matched
        assert len(findings.borderline) <= 1


@pytest.mark.parametrize("name", WITH_MASKS)
def test_pasted_they_are_mmdetections_own(name: str) -> None:
    model = detector(name)
    images = byte_images(2)
    with torch.no_grad():
        found = model(images / 255)
    for ours, own in zip(found, own_results(model, images), strict=True):
        assert len(own.scores) >= 3
        torch.testing.assert_close(ours["boxes"], own.bboxes, atol=1e-3, rtol=0)
        pasted = sampled_masks(ours["masks"][:, 0].numpy(), own.bboxes.numpy(), SIDES)
        assert own.masks.any()
        assert (pasted != own.masks.numpy()).mean() < 1e-4  # pixels whose probability is the threshold
