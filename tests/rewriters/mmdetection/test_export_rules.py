"""What holds for all of mmdetection's detectors in an export."""

import functools
import tempfile
from pathlib import Path
from typing import Any

import onnxruntime as ort
import pytest
import torch

from pipeline.export.manifest import model_libraries
from rewriters import export_onnx, rewriting
from tests.rewriters.mmdetection.exported import AXES, TASK
from tests.small_mmdet import SECTIONS, SLOTS, byte_images, own_results, small
from zoo.checkpoint import load_checkpoint
from zoo.codebases.mmcv_ext.stand_in import MISSING, is_stand_in
from zoo.errors import ExportError
from zoo.families import contract_module, family_of
from zoo.target import Target

pytestmark = [pytest.mark.openmmlab, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

TARGET = Target(AXES, exporter="torchscript")
detector = functools.cache(small)


def exported(model: Any, target: Target, example: dict[str, torch.Tensor]) -> tuple[Any, set[str]]:
    contract = contract_module(model, TASK, "final", {})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        record = export_onnx(
            contract,
            target,
            path,
            example=example,
            output_specs=contract.outputs(TASK, "final"),
            other_sizes=False,
        )
        session = ort.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return session, {fired.name for fired in record.rewriters}


def test_padding_is_zero_after_normalisation_whatever_lies_there() -> None:
    """As mmdetection's data_preprocessor pads the images of a batch, which are smaller than its tensor."""
    model = detector("retinanet")
    images = byte_images(2)
    sizes = [(64, 80), (49, 96)]
    target = Target(AXES, exporter="torchscript", image_sizes=True)
    tensors = {"images": images / 255, "image_sizes": torch.tensor(sizes)}
    session, _ = exported(model, target, tensors)
    num_dets, boxes, scores, labels = session.run(None, {name: one.numpy() for name, one in tensors.items()})
    own = own_results(model, images, sizes)
    eager = model(tensors["images"], tensors["image_sizes"])
    for number, (expected, ours) in enumerate(zip(own, eager, strict=True)):
        count = len(expected.scores)
        assert count >= 3
        assert torch.allclose(ours["boxes"], expected.bboxes, atol=1e-3)
        assert num_dets[number] == count
        torch.testing.assert_close(torch.from_numpy(scores[number, :count]), expected.scores, atol=1e-5, rtol=0)
        torch.testing.assert_close(torch.from_numpy(boxes[number, :count]), expected.bboxes, atol=0.05, rtol=0)
        assert labels[number, :count].tolist() == expected.labels.tolist()
    assert boxes[0, :, 2].max() <= 80


def test_the_dead_branches_are_not_taken() -> None:
    _, fired = exported(detector("retinanet"), TARGET, {"images": byte_images(2) / 255})
    assert {
        "torch.onnx.is_in_onnx_export",
        "mmdet.AnchorGenerator.grid_priors",
        "mmdet.BaseDenseHead.predict_by_feat",
        "mmdet.BaseDetector.add_pred_to_datasample",
        "zoo.MmdetDetector.samples",
    } <= fired


def test_a_head_without_a_rewriter_is_named() -> None:
    """Where it has post-processing of its own, and where it calls mmcv's NMS."""
    model = small("retinanet")  # first: mmcv may need the stand-in for its operators
    import mmcv.ops
    from mmdet.models.dense_heads import RetinaHead

    class OwnHead(RetinaHead):
        def _predict_by_feat_single(self, *_arguments: Any, **_options: Any) -> Any:
            raise AssertionError

    class NmsHead(torch.nn.Module):
        def forward(self, boxes: torch.Tensor) -> Any:
            return mmcv.ops.batched_nms(boxes, boxes[:, 0], boxes[:, 0].long(), {"type": "nms", "iou_threshold": 0.5})

    model.model.bbox_head.__class__ = OwnHead
    with pytest.raises(ExportError, match="OwnHead overrides BaseDenseHead._predict_by_feat_single"):
        exported(model, TARGET, {"images": byte_images(2) / 255})
    head = NmsHead()
    assert len(head(torch.rand(3, 4))[0])
    with rewriting(TARGET, eager=True), pytest.raises(ExportError, match="NmsHead calls mmcv.ops.batched_nms"):
        head(torch.rand(3, 4))


def test_an_nms_that_is_not_known_is_refused() -> None:
    model = small("retinanet")
    model.model.bbox_head.test_cfg.nms = {"type": "soft_nms", "iou_threshold": 0.5}
    with pytest.raises(ExportError, match="got type='soft_nms', iou_threshold=0.5; zooport exports type='nms'"):
        exported(model, TARGET, {"images": byte_images(2) / 255})


def test_checkpoints_of_mmdetection_load(tmp_path: Path) -> None:
    first, second = detector("retinanet"), small("retinanet", seed=1)
    torch.save({"state_dict": first.model.state_dict(), "meta": {}}, tmp_path / "epoch_1.pth")
    load_checkpoint(second, tmp_path / "epoch_1.pth")
    images = byte_images(1) / 255
    assert torch.equal(first(images)[0]["boxes"], second(images)[0]["boxes"])


def test_the_family_says_what_decides_and_what_the_model_is_made_of() -> None:
    model = detector("retinanet")
    family = family_of(model)
    rule = family.decision_rule(model)
    assert (rule.score, rule.nms_iou, rule.slots, rule.class_agnostic) == (0.05, 0.5, SLOTS, False)
    assert family.size_divisor(model) == 32
    mean, std = family.own_normalization(model)
    torch.testing.assert_close(mean * 255, torch.tensor([123.675, 116.28, 103.53]))
    torch.testing.assert_close(std * 255, torch.tensor([58.395, 57.12, 57.375]))
    with family.at_thresholds(model, 0.9, 0.1):
        assert family.decision_rule(model).score == 0.9
    assert family.decision_rule(model).score == 0.05
    libraries = model_libraries(model)
    assert {"mmengine"} < libraries.keys()
    assert libraries.get("mmcv._ext") == (MISSING if is_stand_in() else None)


def test_a_detector_without_a_largest_number_has_the_one_that_it_is_given() -> None:
    assert "max_per_img" not in SECTIONS["yolox"]()["test_cfg"]
    model = detector("yolox")
    found = model(byte_images(2) / 255)
    assert max(len(one["scores"]) for one in found) == SLOTS == model.detections_per_img
    assert all(torch.equal(one["scores"], one["scores"].sort(descending=True).values) for one in found)
