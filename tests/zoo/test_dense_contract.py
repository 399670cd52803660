"""What RetinaNet, FCOS and SSD give at each level, what their rules are, and what is refused."""

import pytest
import torch
from torch import nn

from tests.rewriters.small_dense_models import SLOTS, dense_contract, small_detector
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import InputError
from zoo.families import contract_module, family_of
from zoo.registry import MODELS
from zoo.tasks import Task, build_task

CLASSES = [{"name": str(i), "category_id": i} for i in range(4)]


def task(kind: str = "Detection") -> Task:
    return build_task({"type": kind, "classes": CLASSES})


@pytest.mark.parametrize("family", ["retina_net", "fcos", "ssd"])
@pytest.mark.parametrize("level", ["final", "decoded", "raw"])
def test_what_is_declared_is_given(family: str, level: str) -> None:
    contract = dense_contract(small_detector(family), level)
    specs = contract.outputs(task(), level)
    with torch.no_grad():
        given = contract(torch.rand(2, 3, 64, 96))
    for spec, tensor in zip(specs, given, strict=True):
        assert str(tensor.dtype) == f"torch.{spec.dtype}"
        for side, size in zip(spec.shape, tensor.shape, strict=bool(spec.shape)):
            assert size == {"N": 2, "K": SLOTS, "M": given[1].shape[1]}.get(str(side), side)


def test_the_names_of_the_levels() -> None:
    def shown(family: str, level: str) -> list[str]:
        return [spec.name for spec in dense_contract(small_detector(family), level).outputs(task(), level)]

    assert shown("fcos", "raw") == ["cls_logits", "bbox_regression", "bbox_ctrness"]
    assert shown("retina_net", "raw") == shown("ssd", "raw") == ["cls_logits", "bbox_regression"]
    assert shown("ssd", "decoded") == ["boxes", "scores"]
    assert shown("ssd", "final") == ["num_dets", "boxes", "scores", "labels"]


@pytest.mark.parametrize("family", ["retina_net", "fcos", "ssd"])
def test_the_rule_has_the_models_own_thresholds(family: str) -> None:
    model = small_detector(family, score_thresh=0.25, nms_thresh=0.4, detections_per_img=33)
    assert family_of(model).decision_rule(model) == DecisionRule(0.25, 0.4, 33)


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="model Conv2d: detections_per_img is None; give a detector of no family this"):
        contract_module(nn.Conv2d(1, 1, 1), task(), "final", {})
    with pytest.raises(InputError, match="model RetinaNet: expected a torchvision R-CNN, .* for task instance-seg"):
        contract_module(small_detector("retina_net"), task("InstanceSegmentation"), "final", {})
    section = {"type": "TorchvisionDetector", "architecture": "retinanet_resnet50", "num_classes": 4}
    with pytest.raises(
        InputError, match='torchvision architecture "retinanet_resnet50"; nearest: "retinanet_resnet50_'
    ):
        MODELS.build(section)


def test_an_architecture_of_torchvision_downloads_nothing() -> None:
    section = {"type": "TorchvisionDetector", "architecture": "ssdlite320_mobilenet_v3_large", "num_classes": 4}
    model = MODELS.build({**section, "score_thresh": 0.2})
    assert type(model).__name__ == "SSD"
    assert model.score_thresh == 0.2
    assert model.head.classification_head.num_columns == 4
