"""Trains a config's model for a few iterations, narrower than it is: CONFIG WORK_DIR THREADS. For a child process."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from pipeline.training import Pretraining, Recipe, begin_run, train
from zoo.config import load_config

CHANNELS = 4  # of the first stage: torch 2.15 corrupts memory in small convolutions whose channels are last
ITERATIONS = 3


def narrowed(model: dict[str, Any]) -> dict[str, Any]:
    """The section with `base_channels` of the backbone at CHANNELS, and the in_channels that follow it."""
    backbone = model.get("backbone", {})
    if "base_channels" not in backbone:
        return model
    part = backbone["base_channels"] // CHANNELS
    heads = {
        key: {name: scaled(value, part) if name.endswith("in_channels") else value for name, value in section.items()}
        for key, section in model.items()
        if key.endswith("_head")
    }
    own = {"in_channels": scaled(model["in_channels"], part)} if "in_channels" in model else {}
    return {**model, **own, **heads, "backbone": {**backbone, "base_channels": CHANNELS}}


def scaled(channels: Any, part: int) -> Any:
    return channels // part if isinstance(channels, int) else tuple(each // part for each in channels)


def main(path: Path, work_dir: Path, threads: int) -> None:
    torch.set_num_threads(threads)
    config = load_config(path)
    recipe = Recipe.from_config(config, iterations=ITERATIONS)
    scenes = None if recipe.num_scenes is None else 2
    first = None if recipe.pretrain is None else Pretraining(iterations=2, batch_size=4, side=32, lr=1e-3)
    crop = recipe.crop if scenes is None else (96, 128)
    recipe = replace(recipe, batch_size=4, crop=crop, num_scenes=scenes, warmup=1, backbone=None, pretrain=first)
    config = replace(config, model=narrowed(dict(config.model)))
    train(config, recipe, work_dir, begin_run(path, recipe, amp=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
