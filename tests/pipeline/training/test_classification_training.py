"""A classifier learns from single digits."""

from dataclasses import replace
from pathlib import Path

import torch

from pipeline.training.recipe import Recipe
from pipeline.training.trainable import Trainable
from pipeline.training.training_data import training_data
from zoo import build_model
from zoo.config import load_config

CONFIG = Path(__file__).parents[3] / "configs/classification/resnet18_digits.py"


def test_a_batch_is_single_digits_and_their_ids() -> None:
    config = load_config(CONFIG)
    model = build_model(config)
    recipe = replace(Recipe.from_config(config, iterations=1), batch_size=8, num_scenes=4)
    (batch,) = training_data(config, recipe, model)
    assert (tuple(batch["images"].shape), batch["labels"].dtype) == ((8, 3, 64, 64), torch.int64)
    with torch.inference_mode():
        right = model(batch["images"]).argmax(dim=1) == batch["labels"]
        losses = Trainable(model)(**batch)
    assert int(right.sum()) >= 6  # the shipped model knows the digits that it learnt from
    assert float(losses["loss"]) < 1.5
