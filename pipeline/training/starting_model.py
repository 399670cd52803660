"""The model that a training starts from."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from pipeline.base.steps import BeginStep
from pipeline.training.pretraining import pretrain
from pipeline.training.recipe import Recipe
from zoo.build import build_model
from zoo.checkpoint import load_fitting, load_state, read_state
from zoo.config import ModelConfig
from zoo.config.located import is_address
from zoo.errors import InputError
from zoo.families import family_of
from zoo.models.deformable_convolution import OFFSETS
from zoo.models.resnet import ResNet18
from zoo.progress import Progress

BACKBONES = ("backbone.body", "backbone")  # a detector's, inside its feature pyramid, and a segmentor's
SHOWN = 2  # tensors that start anew


def starting_model(
    config: ModelConfig, recipe: Recipe, note: BeginStep | None = None, progress: Progress | None = None
) -> nn.Module:
    """The config's model with random weights, or with those that the recipe says, of all of it or of its backbone.

    `note` is called with one line: what was loaded, and what starts anew because it has another shape; `progress`
    counts the iterations of a pre-training. Raises InputError where the model cannot be built, or the weights do not
    fit.
    """
    torch.manual_seed(recipe.seed)
    model = build_model(config, weights=False)
    if recipe.load_from is not None:
        source = recipe.load_from
        anew = load_fitting(model, source if is_address(source) else config.locate(source, "train", "load_from"))
        if note is not None:
            note(format_anew(recipe.load_from, anew, len(model.state_dict())))
    if recipe.backbone is not None:
        file = _backbone_file(config, recipe.backbone)
        load_state(backbone_of(model), _fitted(_backbone_state(file), model), f"train.backbone {file}")
    if recipe.pretrain is not None:
        assert recipe.num_scenes is not None  # from_config sees to that
        pretrain(backbone_of(model), recipe.pretrain, num_scenes=recipe.num_scenes, seed=recipe.seed, progress=progress)
    return model


def format_anew(source: str, anew: Sequence[str], count: int) -> str:
    """What was loaded, of a state of `count` tensors, and what was not."""
    if not anew:
        return f"starts from {source}: all {count} tensors"
    shown = ", ".join(anew[:SHOWN]) + (", ..." if len(anew) > SHOWN else "")
    return f"starts from {source}: {count - len(anew)} of {count} tensors; random, because the shapes differ: {shown}"


def _fitted(state: Mapping[str, Tensor], model: nn.Module) -> Mapping[str, Tensor]:
    """The state of a backbone by the names of the model's, with its fresh offsets of deformable convolutions."""
    own_state = backbone_of(model).state_dict()
    renamed = family_of(model).backbone_state(model, state)
    return {name: tensor for name, tensor in own_state.items() if OFFSETS in name} | dict(renamed)


def backbone_sha256(config: ModelConfig, recipe: Recipe) -> str | None:
    """Of the file that the config's recipe starts from, if any. Raises InputError where there is no such file."""
    if recipe.backbone is None:
        return None
    return hashlib.sha256(_backbone_file(config, recipe.backbone).read_bytes()).hexdigest()


def backbone_of(model: nn.Module) -> nn.Module:
    """The part of a model that others share. Raises InputError where it has none."""
    backbone = family_of(model).backbone(model)
    if backbone is not None:
        return backbone
    modules = dict(model.named_modules())
    for name in BACKBONES:
        if isinstance(module := modules.get(name), ResNet18):
            return module
    raise InputError(
        f"train: {type(model).__name__} has no ResNet18 as {' or '.join(BACKBONES)}; leave out backbone and pretrain"
    )


def _backbone_file(config: ModelConfig, name: str) -> Path:
    file = config.locate(name, "train", "backbone")
    if not file.is_file():
        raise InputError(f"train.backbone {file}: no such file; train that model first, or leave train.backbone out")
    return file


def _backbone_state(file: Path) -> Mapping[str, Tensor]:
    state = read_state(file)
    for prefix in (f"{name}." for name in BACKBONES):
        backbone_state = {
            name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)
        }
        if backbone_state:
            return backbone_state
    raise InputError(f"train.backbone {file}: none of its {len(state)} tensors is of a backbone; give another file")
