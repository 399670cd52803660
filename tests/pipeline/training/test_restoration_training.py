"""What super-resolution learns from."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pipeline.training import Recipe
from pipeline.training.trainable import Trainable
from pipeline.training.training_data import training_data
from tests.examples import slow_but
from zoo.build import build_model
from zoo.config import load_config
from zoo.errors import InputError
from zoo.models.restoration import SRCNN

CONFIGS = Path(__file__).parents[3] / "configs" / "restoration"


@pytest.mark.parametrize(
    ("name", "sides"),
    slow_but(
        [("srcnn_x3_photographs", [96, 96, 96]), ("srcnn_any-scale_photographs", [64, 96, 128])],
        ("srcnn_any-scale_photographs", [64, 96, 128]),
    ),
)
def test_batches_of_each_scale_lower_the_loss(name: str, sides: list[int]) -> None:
    path = CONFIGS / f"{name}.py"
    config = load_config(path)
    recipe = Recipe.from_config(config, iterations=3)
    assert recipe.size == recipe.crop == (32, 32)
    torch.manual_seed(0)
    model = build_model(config, weights=False)
    trainable = Trainable(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    batches = list(training_data(config, recipe, model))
    assert [batch["targets"].shape[-1] for batch in batches] == sides
    first = trainable(**batches[0])["loss"]
    for _ in range(3):
        optimizer.zero_grad()
        trainable(**batches[0])["loss"].backward()
        optimizer.step()
    assert trainable(**batches[0])["loss"] < first


@pytest.mark.parametrize(("channels", "blind"), [("y", True), ("rgb", False)])
def test_the_loss_is_of_what_the_network_sees(channels: str, blind: bool) -> None:
    """A change of colour that leaves the luma alone is none of the luma network's business."""
    model = SRCNN(2, channels, filters=(4, 2))
    images = torch.rand(1, 3, 16, 16)
    targets = model(images).detach()
    colour = torch.tensor([128.553, -65.481, 0.0]).reshape(1, 3, 1, 1) / 255
    loss = Trainable(model)(images=images, targets=targets + colour)["loss"]
    assert (loss.item() < 1e-12) == blind


def test_only_losses_are_given() -> None:
    with pytest.raises(ValueError, match='mode "tensor": a Trainable only gives losses'):
        Trainable(SRCNN())(images=torch.zeros(1, 3, 8, 8), targets=torch.zeros(1, 3, 24, 24), mode="tensor")


def test_each_task_learns_from_its_own_images() -> None:
    path = CONFIGS / "srcnn_x3_photographs.py"
    config = load_config(path)
    recipe = replace(Recipe.from_config(config), num_scenes=10)
    with pytest.raises(InputError, match="got num_scenes 10 for a SRCNN; super-resolution learns from crops"):
        training_data(config, recipe, SRCNN())
    config = replace(
        config, train={**(config.train or {}), "pretrain": {"iterations": 1, "batch_size": 2, "side": 32, "lr": 0.1}}
    )
    with pytest.raises(InputError, match="pretrain: learns from digits; give num_scenes"):
        Recipe.from_config(config)
