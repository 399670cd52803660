"""Where a training starts: random weights, another model's backbone, or a backbone that was pre-trained."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from pipeline.training import Recipe
from pipeline.training.starting_model import backbone_of, backbone_sha256, starting_model
from tests.pipeline.training.tiny_recipe import ROOT, write_tiny
from zoo.config import ModelConfig, load_config
from zoo.errors import InputError
from zoo.models.resnet import ResNet18

DETECTOR = ROOT / "configs/detection/faster-rcnn_r18-fpn_digits.py"


def deformable(config: ModelConfig) -> ModelConfig:
    backbone = {**config.model["backbone"], "deformable": (False, False, False, True)}
    return replace(config, model={**config.model, "backbone": backbone})


def tiny(folder: Path) -> tuple[ModelConfig, Recipe]:
    config = load_config(write_tiny(folder))
    return config, Recipe.from_config(config)


def saved(file: Path, prefix: str, channels: int) -> dict[str, Tensor]:
    torch.manual_seed(9)
    state = {name: tensor + 1 for name, tensor in ResNet18(channels).state_dict().items()}
    save_file({prefix + name: tensor for name, tensor in state.items()} | {"head.x": torch.zeros(1)}, file)
    return state


def is_of(module: nn.Module, state: dict[str, Tensor]) -> bool:
    return all(torch.equal(tensor, state[name]) for name, tensor in module.state_dict().items())


@pytest.mark.parametrize("prefix", ["backbone.", "backbone.body."])
def test_a_segmentor_starts_from_a_backbone(prefix: str, tmp_path: Path) -> None:
    config, recipe = tiny(tmp_path)
    state = saved(tmp_path / "other.safetensors", prefix, channels=4)
    recipe = replace(recipe, pretrain=None, backbone="other.safetensors")
    assert is_of(starting_model(config, recipe).get_submodule("backbone"), state)
    digest = backbone_sha256(config, recipe)
    assert digest is not None
    (tmp_path / "other.safetensors").write_bytes(b"")
    assert backbone_sha256(config, recipe) != digest


def test_a_detector_starts_from_a_backbone(tmp_path: Path) -> None:
    config = load_config(DETECTOR)
    state = saved(tmp_path / "other.safetensors", "backbone.", channels=16)
    recipe = replace(Recipe.from_config(config), backbone=str(tmp_path / "other.safetensors"))
    assert is_of(starting_model(config, recipe).get_submodule("backbone.body"), state)


def test_a_counter_of_batch_norm_may_be_missing(tmp_path: Path) -> None:
    config, recipe = tiny(tmp_path)
    state = saved(tmp_path / "all.safetensors", "backbone.", channels=4)
    counted = {f"backbone.{name}": tensor for name, tensor in state.items() if "num_batches" not in name}
    save_file(counted, tmp_path / "other.safetensors")
    model = starting_model(config, replace(recipe, pretrain=None, backbone="other.safetensors"))
    assert torch.equal(backbone_of(model).conv1.weight, state["conv1.weight"])


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"head.x": torch.zeros(1)}, "none of its 1 tensors is of a backbone"),
        ({"backbone.conv1.weight": torch.zeros(4, 3, 7, 7)}, "is not of this model: .* missing"),
        ({"backbone.other": torch.zeros(1)}, r"is not of this model: .* 1 unknown \(other\)"),
    ],
)
def test_a_backbone_that_does_not_fit_is_refused(tensors: dict[str, Tensor], message: str, tmp_path: Path) -> None:
    config, recipe = tiny(tmp_path)
    save_file(tensors, tmp_path / "other.safetensors")
    with pytest.raises(InputError, match=rf"train.backbone .*other.safetensors:? {message}"):
        starting_model(config, replace(recipe, pretrain=None, backbone="other.safetensors"))


def test_a_backbone_of_another_width_is_refused(tmp_path: Path) -> None:
    config, recipe = tiny(tmp_path)
    saved(tmp_path / "other.safetensors", "backbone.", channels=8)
    with pytest.raises(InputError, match="of another shape"):
        starting_model(config, replace(recipe, pretrain=None, backbone="other.safetensors"))


def test_no_such_backbone(tmp_path: Path) -> None:
    config, recipe = tiny(tmp_path)
    recipe = replace(recipe, backbone="none.safetensors")
    for ask in (lambda: starting_model(config, recipe), lambda: backbone_sha256(config, recipe)):
        with pytest.raises(InputError, match="none.safetensors: no such file; train that model first"):
            ask()
    assert backbone_sha256(config, replace(recipe, backbone=None)) is None


def test_a_model_without_a_backbone() -> None:
    with pytest.raises(InputError, match="Sequential has no ResNet18 as backbone.body or backbone; leave out backbone"):
        backbone_of(nn.Sequential())


def test_a_deformable_backbone_starts_from_a_plain_one(tmp_path: Path) -> None:
    config, recipe = tiny(tmp_path)
    config = deformable(config)
    state = saved(tmp_path / "other.safetensors", "backbone.", channels=4)
    started = starting_model(config, replace(recipe, pretrain=None, backbone="other.safetensors"))
    check_offsets_are_fresh(backbone_of(started), set(state))
    assert all(torch.equal(backbone_of(started).state_dict()[name], tensor) for name, tensor in state.items())


def test_a_deformable_backbone_is_pre_trained_as_a_plain_one(tmp_path: Path) -> None:
    config, recipe = tiny(tmp_path)
    config = deformable(config)
    before, after = (starting_model(config, plan) for plan in (replace(recipe, pretrain=None), recipe))
    check_offsets_are_fresh(backbone_of(after), set(ResNet18(4).state_dict()))
    name = "layer4.1.conv2.weight"
    assert not torch.equal(backbone_of(before).state_dict()[name], backbone_of(after).state_dict()[name])


def check_offsets_are_fresh(backbone: nn.Module, plain: set[str]) -> None:
    fresh = {name: tensor for name, tensor in backbone.state_dict().items() if name not in plain}
    assert len(fresh) == 2 * 4  # a weight and a bias of each convolution of the stage
    assert not any(tensor.any() for tensor in fresh.values())


def test_pre_training_changes_the_backbone_alone(tmp_path: Path) -> None:
    config, recipe = tiny(tmp_path)
    before = starting_model(config, replace(recipe, pretrain=None)).state_dict()
    after = starting_model(config, recipe).state_dict()
    changed = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
    assert {"backbone.conv1.weight", "backbone.bn1.running_mean", "backbone.layer4.1.conv2.weight"} <= changed
    assert all(name.startswith("backbone.") for name in changed)
