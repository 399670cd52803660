"""Detectors of transformers in training: the library's own loss, also of images without objects; other classes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from pipeline.training.own_config import DataRequest, write_config
from pipeline.training.pretraining import pretrain
from pipeline.training.recipe import Pretraining
from pipeline.training.starting_model import backbone_of
from tests.small_query_detectors import CLASSES, SETTINGS, SIDE, SMALL_BACKBONE, save
from zoo.build import build_model
from zoo.checkpoint import load_checkpoint, load_fitting
from zoo.config import load_config
from zoo.datasets.shapes import write_shapes
from zoo.families import family_of
from zoo.models.resnet import ResNet18
from zoo.models.transformers.query_detectors import TransformersDetector
from zoo.models.transformers.query_detectors.transformers_detector import unit_boxes
from zoo.own_model import ModelRequest
from zoo.own_model import write_config as write_model

pytestmark = pytest.mark.libraries
transformers = pytest.importorskip("transformers", reason="the models of these tests are transformers'")

TARGETS = [
    {"boxes": torch.tensor([[8.0, 8.0, 40.0, 32.0], [0.0, 16.0, 64.0, 64.0]]), "labels": torch.tensor([1, 4])},
    {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64)},
]


def learning(name: str, folder: Path) -> TransformersDetector:
    """A small model of that architecture, in training mode, without dropout."""
    torch.manual_seed(0)
    SETTINGS[name]().save_pretrained(folder)
    model = TransformersDetector(folder).train()
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    return model


def loss(model: TransformersDetector, targets: list[dict[str, Tensor]]) -> Tensor:
    torch.manual_seed(1)  # of the noise around boxes
    batch = {"images": torch.rand(len(targets), 3, SIDE, SIDE), "targets": targets}
    (value,) = family_of(model).losses(model, batch).values()
    return value


@pytest.mark.parametrize("name", SETTINGS)
def test_every_architecture_learns(name: str, tmp_path: Path) -> None:
    model = learning(name, tmp_path)
    value = loss(model, TARGETS)
    assert value.isfinite()
    value.backward()  # type: ignore[no-untyped-call]
    moved = {path for path, weight in model.named_parameters() if weight.grad is not None and weight.grad.any()}
    assert any("class" in path or "score" in path for path in moved), "what decides the classes"
    assert any("bbox" in path or "box" in path for path in moved), "what decides the boxes"


def test_a_config_for_other_data_has_another_number_of_classes_than_the_folder(tmp_path: Path) -> None:
    save("detr", tmp_path / "detr")
    transformers.DetrImageProcessor(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(tmp_path / "detr")
    base = load_config(write_model(ModelRequest(str(tmp_path / "detr"), out=tmp_path / "base.py")).path)
    data = write_shapes(tmp_path / "data", count=10)
    (tmp_path / "elsewhere").mkdir()
    request = DataRequest(base, data, tmp_path / "elsewhere/mine.py", data.parent / "images")
    config = load_config(write_config(request).path)
    assert len(base.task.classes) == CLASSES
    assert config.model["num_classes"] == len(config.task.classes) == 3
    assert config.model["folder"] == "../detr"
    assert build_model(config, weights=False).model.config.num_labels == 3


def test_it_is_the_loss_of_the_library(tmp_path: Path) -> None:
    model = learning("detr", tmp_path)
    torch.manual_seed(1)
    images = torch.rand(1, 3, SIDE, SIDE)
    boxes = torch.tensor([[24 / 64, 20 / 64, 32 / 64, 24 / 64], [0.5, 40 / 64, 1.0, 48 / 64]])
    labels = [{"class_labels": TARGETS[0]["labels"], "boxes": boxes}]
    expected = model.model(pixel_values=images, labels=labels).loss  # after the same random numbers
    assert loss(model, TARGETS[:1]) == expected


def test_boxes_in_units_of_the_image() -> None:
    boxes = torch.tensor([[10.0, 10.0, 30.0, 50.0]])
    expected = torch.tensor([[0.2, 0.6, 0.2, 0.8]])
    assert torch.allclose(unit_boxes(boxes, torch.zeros(2, 3, 50, 100)), expected)


@pytest.mark.parametrize("name", ["rt_detr_v2", "detr"])
def test_a_batch_without_objects(name: str, tmp_path: Path) -> None:
    model = learning(name, tmp_path)
    assert loss(model, [TARGETS[1], TARGETS[1]]).isfinite()


def test_an_architecture_in_the_config_is_that_of_the_folder(tmp_path: Path) -> None:
    model = save("rt_detr_v2", tmp_path)
    written = {**model.config.to_dict(), "id2label": None, "label2id": None}
    inline = TransformersDetector(architecture=written, num_classes=CLASSES)
    load_checkpoint(inline, tmp_path / "model.safetensors")
    images = torch.rand(1, 3, SIDE, SIDE)
    with torch.no_grad():
        outputs, expected = inline.model(pixel_values=images), model(pixel_values=images)
    assert torch.equal(outputs.logits, expected.logits)


def test_a_trained_model_begins_with_other_classes(tmp_path: Path) -> None:
    saved = save("d_fine", tmp_path)
    model = TransformersDetector(tmp_path, num_classes=3)
    anew = load_fitting(model, tmp_path / "model.safetensors")
    assert anew
    assert all("class_embed" in line or "score" in line for line in anew), anew
    state, expected = model.model.state_dict(), saved.state_dict()
    name = "model.decoder.layers.0.self_attn.q_proj.weight"
    assert torch.equal(state[name], expected[name])
    assert model(torch.rand(1, 3, SIDE, SIDE))[0]["labels"].max() < 3


def zoo_backbone(folder: Path) -> tuple[TransformersDetector, ResNet18]:
    """A detector on transformers' ResNet-18, of 4 channels, and the zoo's, with statistics of its own."""
    from tests.small_query_detectors import HYBRID

    torch.manual_seed(0)
    own: Any = ResNet18(4)
    with torch.no_grad():
        for _ in range(3):
            own.train()(torch.rand(2, 3, SIDE, SIDE))
    settings = {**SMALL_BACKBONE, "embedding_size": 4, "hidden_sizes": [4, 8, 16, 32], "depths": [2, 2, 2, 2]}
    architecture = {
        **HYBRID,
        "model_type": "rt_detr_v2",
        "encoder_in_channels": [8, 16, 32],
        "freeze_backbone_batch_norms": False,
        "backbone_config": {"model_type": "resnet", **settings},
    }
    return TransformersDetector(architecture=architecture), own.eval()


def test_a_backbone_of_the_zoo_gives_the_same_maps(tmp_path: Path) -> None:
    model, own = zoo_backbone(tmp_path)
    backbone = backbone_of(model)
    backbone.load_state_dict(family_of(model).backbone_state(model, own.state_dict()))
    images = torch.rand(1, 3, SIDE, SIDE)
    with torch.no_grad():
        maps, expected = backbone(images).feature_maps, own(images)[1:]
    for one, other in zip(maps, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_a_backbone_is_pre_trained(tmp_path: Path) -> None:
    model, _ = zoo_backbone(tmp_path)
    before = {name: tensor.clone() for name, tensor in backbone_of(model).state_dict().items()}
    pretrain(backbone_of(model), Pretraining(iterations=1, batch_size=2, side=32, lr=1e-2), num_scenes=1, seed=0)
    after = backbone_of(model).state_dict()
    assert not all(torch.equal(tensor, after[name]) for name, tensor in before.items())
