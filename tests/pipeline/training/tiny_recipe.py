"""A segmentor and a recipe so small that a training takes seconds; it is scored on the first images of val."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from pipeline.publishing.weights import publish_weights
from pipeline.training import Recipe, begin_run, half_precision_file, score, scored_on, training_record
from zoo.build import build_model
from zoo.cards import TrainingRun
from zoo.config import load_config

ROOT = Path(__file__).resolve().parents[3]
TINY = """
_base_ = ["{root}/configs/segmentation/fcn_r18_digits.py"]
model = dict(backbone=dict(base_channels=4), decode_head=dict(in_channels=(4, 8, 32), channels=8))
preprocess = dict(size=(64, 80))
train = dict(
    _delete_=True, iterations={iterations}, batch_size=2, crop=(64, 64), num_scenes=2, warmup=1,
    optimizer=dict(type="AdamW", lr=1e-3), pretrain=dict(iterations=2, batch_size=4, side=32, lr=1e-3),
)
dataset = dict(root="{data}")
checkpoint = "weights/tiny.safetensors"
"""
IMAGES = 2


def write_tiny(folder: Path, iterations: int = 2) -> Path:
    """The config; its weights and its work dir will lie beside it."""
    config, data = folder / "tiny.py", folder / "data"
    config.write_text(TINY.format(root=ROOT, iterations=iterations, data=data), encoding="utf-8")
    for kind in ("images", "label_maps"):
        (data / "val" / kind).mkdir(parents=True)
        for path in sorted((ROOT / "zoo/data/digits/val" / kind).iterdir())[:IMAGES]:
            shutil.copy(path, data / "val" / kind)
    (data / "val/annotations.json").write_text("{}", encoding="utf-8")  # label maps need none; its place says "whole"
    return config


def command(config: Path, *arguments: str) -> list[str]:
    """tools/train.py on a tiny config."""
    work_dir = str(config.parent / "work")
    return [
        sys.executable,
        str(ROOT / "tools/train.py"),
        str(config),
        "--work-dir",
        work_dir,
        "--threads",
        "1",
        *arguments,
    ]


def train(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(config, *arguments), capture_output=True, text=True, check=False, cwd=ROOT)


def constant(config: Path, label: int) -> nn.Module:
    """The tiny model, which gives each pixel the same class."""
    torch.manual_seed(0)
    model = build_model(config, weights=False)
    with torch.no_grad():
        model.get_parameter("decode_head.conv_seg.bias")[label] += 1000
    return model


def publish_model(config: Path, model: nn.Module) -> Path:
    """Weights and record, as a training by the recipe would have published them; the record."""
    loaded = load_config(config)
    recipe, run = Recipe.from_config(loaded), run_of(config)
    weights = half_precision_file(model)
    file = (config.parent / loaded.checkpoint).resolve()
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(weights)
    figures, datasets = score(config, recipe.also, file), scored_on(config, recipe.also)
    record = training_record(file.name, weights, model, figures, datasets, recipe, run)
    return publish_weights(file, record.to_json(), weights)


def run_of(config: Path, iterations: int = 2) -> TrainingRun:
    beginning = begin_run(config, Recipe.from_config(load_config(config)), amp=False)
    return TrainingRun(**{**beginning.to_dict(), "iterations": iterations})


def save_trained(config: Path, model: nn.Module, /, **run: Any) -> Path:
    """A checkpoint as zooport train leaves it."""
    path = config.parent / "iter_2.pth"
    state = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    torch.save({"state_dict": state, "meta": {"training": {**run_of(config).to_dict(), **run}}}, path)
    return path
