"""What the Runner is given of a recipe: groups of parameters, clipping and the rate."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mmengine.optim import build_optim_wrapper
from torch import nn

from pipeline.training import Recipe
from pipeline.training.optimization import optimization, schedule
from tests.pipeline.training.tiny_recipe import ROOT, write_tiny
from tests.zoo.cards.training_records import RECIPE

DESCRIBE = Path(__file__).with_name("describe_runner.py")


def recipe(**values: Any) -> Recipe:
    return Recipe(**{**RECIPE, **values})


def test_weights_decay_biases_and_norms_do_not() -> None:
    model = nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))
    made = recipe(optimizer={"type": "AdamW", "lr": 0.5, "weight_decay": 0.25}, max_grad_norm=3.0)
    wrapper = build_optim_wrapper(model, optimization(made, amp=False))
    decays = {id(group["params"][0]): group["weight_decay"] for group in wrapper.optimizer.param_groups}
    found = {name: decays[id(parameter)] for name, parameter in model.named_parameters()}
    assert found == {"0.weight": 0.25, "0.bias": 0.0, "1.weight": 0.0, "1.bias": 0.0}
    assert {group["lr"] for group in wrapper.optimizer.param_groups} == {0.5}
    assert wrapper.clip_grad_kwargs == {"max_norm": 3.0}


def test_a_layer_with_two_names_is_learned_once() -> None:
    layer = nn.Linear(1, 1)
    wrapper = build_optim_wrapper(nn.Sequential(layer, nn.ReLU(), layer), optimization(recipe(), amp=False))
    parameters = [one for group in wrapper.optimizer.param_groups for one in group["params"]]
    assert sorted(map(id, parameters)) == sorted(map(id, layer.parameters()))


@pytest.mark.parametrize(
    ("warmup", "iterations", "spans"),
    [
        (3, 10, {"LinearLR": (0, 3), "CosineAnnealingLR": (3, 10)}),
        (1, 10, {"CosineAnnealingLR": (0, 10)}),
        (0, 10, {"CosineAnnealingLR": (0, 10)}),
        (10, 10, {}),
        (11, 10, {}),
    ],
)
def test_the_rate(warmup: int, iterations: int, spans: dict[str, tuple[int, int]]) -> None:
    found = schedule(recipe(warmup=warmup, iterations=iterations))
    assert {entry["type"]: (entry["begin"], entry["end"]) for entry in found or ()} == spans


@pytest.mark.slow
def test_the_runner_has_all_of_it(tmp_path: Path) -> None:
    """In a process of its own: a Runner leaves loggers and a default scope behind."""
    config = write_tiny(tmp_path, iterations=5)
    text = config.read_text(encoding="utf-8")
    text = text.replace("lr=1e-3)", "lr=1e-3, weight_decay=0.5), max_grad_norm=2.5", 1)
    config.write_text(text.replace("warmup=1", "warmup=2", 1), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(DESCRIBE), str(config)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {
        "decays": [0.0, 0.5],
        "rates": [0.001],
        "clip": {"max_norm": 2.5},
        "schedule": [["LinearLR", 0, 2], ["CosineAnnealingLR", 2, 5]],
        "iterations": 5,
        "batch_size": 2,
        "samples": 10,
        "pretrained": [2, 4, 32],
    }
