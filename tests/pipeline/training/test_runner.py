"""What `train` records of a run, with a Runner that trains nothing; test_training.py has real ones."""

import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from torch import nn

from pipeline.training import Recipe, begin_run, runner, train
from pipeline.training.runner import RunInCheckpoint
from tests.pipeline.training.tiny_recipe import write_tiny
from zoo.config import load_config

RESUMED = Path("work/iter_1.pth")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[RunInCheckpoint]:
    """The hooks that Runners were given."""
    hooks: list[RunInCheckpoint] = []

    def build(*arguments: object, **_options: object) -> SimpleNamespace:
        hooks.extend(argument for argument in arguments if isinstance(argument, RunInCheckpoint))
        return SimpleNamespace(train=lambda: None, model=SimpleNamespace(model=nn.Linear(1, 1)), iter=2)

    monkeypatch.setattr(runner, "build_runner", build)
    return hooks


@pytest.mark.parametrize("resume", [None, RESUMED])
def test_the_file_of_the_backbone_is_recorded_where_it_was_loaded(
    resume: Path | None, started: list[RunInCheckpoint], tmp_path: Path
) -> None:
    path = write_tiny(tmp_path)
    (tmp_path / "other.safetensors").write_bytes(b"weights")
    config = load_config(path)
    recipe = replace(Recipe.from_config(config), backbone="other.safetensors")
    begun = replace(begin_run(path, recipe, amp=False), backbone_sha256=None if resume is None else "ab")
    _, run = train(config, recipe, tmp_path, begun, resume=resume)
    assert run.iterations == 2
    assert run.backbone_sha256 == (hashlib.sha256(b"weights").hexdigest() if resume is None else "ab")
    (hook,) = started
    checkpoint: dict[str, dict[str, object]] = {"meta": {"iter": 1}}
    hook.before_save_checkpoint(None, checkpoint)
    assert checkpoint["meta"]["training"] == replace(run, iterations=1).to_dict()
    assert run.recipe == recipe.to_dict()
