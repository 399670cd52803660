"""A tiny classifier with data of its own: bright images and dark ones, in folders."""

from pathlib import Path

import cv2
import numpy as np

from pipeline.training import Recipe
from zoo.config import ModelConfig, load_config

CLASSIFIER = """
model = dict(type="ImageClassifier", backbone=dict(type="ResNet18", base_channels=4), in_channels=32, num_classes=2)
task = dict(type="ImageClassification", classes=[dict(name=name, category_id=None) for name in ("bright", "dark")])
preprocess = dict(size=(32, 32))
train_dataset = dict(type="ClassFolders", root="{folder}/train")
dataset = dict(type="ClassFolders", root="{folder}/val")
evaluator = dict(type="Accuracy")
export = dict(inputs=dict(batch=(1, 2, 4)))
checkpoint = "work/best.safetensors"
train = dict(iterations={iterations}, batch_size=4, warmup=1, optimizer=dict(type="AdamW", lr=0.003), {more})
"""
LEVELS = {"bright": 200, "dark": 60}


def write_classifier(folder: Path, iterations: int = 4, more: str = "val_interval=2") -> Path:
    """The config, and three images of each class to learn from and two to judge."""
    for split, count in (("train", 3), ("val", 2)):
        for name, level in LEVELS.items():
            place = folder / split / name
            place.mkdir(parents=True, exist_ok=True)
            for index in range(count):
                pixels = np.random.default_rng([index, level]).normal(level, 20, (40, 48, 3)).clip(0, 255)
                cv2.imwrite(str(place / f"{index}.png"), pixels.astype(np.uint8))
    path = folder / "classifier.py"
    path.write_text(CLASSIFIER.format(folder=folder, iterations=iterations, more=more), encoding="utf-8")
    return path


def config_and_recipe(path: Path) -> tuple[ModelConfig, Recipe]:
    config = load_config(path)
    return config, Recipe.from_config(config)
