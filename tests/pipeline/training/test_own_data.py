"""Training on data of one's own: what is checked first, what is validated, kept and resumed. Steps of tiny models."""

import json
import logging
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from mmengine.runner import Runner
from torch import Tensor, nn

from pipeline.evaluating import evaluate
from pipeline.publishing.lock import locked
from pipeline.training import Recipe, begin_run, last_checkpoint, read_run, resume_run, train, write_curves
from pipeline.training.best_weights import NAME, BestWeights
from pipeline.training.own_data import own_dataset
from pipeline.training.runner import RunInCheckpoint
from pipeline.training.starting_model import starting_model
from pipeline.training.validation import Validation
from pipeline.training.whole_files import WholeFiles
from tests.pipeline.training.own_data import config_and_recipe, write_classifier
from tests.zoo_configs import ROOT
from zoo.build import build_model
from zoo.checkpoint import load_fitting
from zoo.config import load_config
from zoo.errors import InputError
from zoo.recipe_data import check_recipe_data


def started(path: Path, **options: Any) -> tuple[nn.Module, Any, list[str]]:
    """The model and the run of a training in `work` beside the config, and the lines that it reported."""
    config, recipe = config_and_recipe(path)
    notes: list[str] = []
    run = options.pop("run", None) or begin_run(path, recipe, amp=False)
    return *train(config, recipe, path.parent / "work", run, note=notes.append, **options), notes


def test_a_training_is_validated_and_gives_its_best_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, counts = write_classifier(tmp_path), []
    model, run, notes = started(path, progress=lambda *count: counts.append(count))
    assert capsys.readouterr() == ("", "")  # nothing of mmengine's
    assert run.iterations == 4
    kept = torch.load(tmp_path / "work" / NAME, weights_only=True)
    figure, iteration = kept["meta"]["best"]
    assert iteration in (2, 4)
    assert notes == [f"best classification/top1 {figure:.2f} at iteration {iteration} of 4"]
    assert all(torch.equal(kept["state_dict"][name], tensor) for name, tensor in model.state_dict().items())
    evaluated = evaluate(path, ["pytorch"], checkpoint=tmp_path / "work" / NAME, work_dir=tmp_path / "evaluated")
    assert evaluated.rows[0].figures["classification/top1"] == figure
    assert counts[-1][1:] == (4, 4)
    assert any(words.startswith("training, loss ") and "(best " in words for words, _, _ in counts)
    curves = write_curves(tmp_path / "work")
    assert curves is not None
    assert curves.is_file()
    (log,) = (tmp_path / "work").glob("*/vis_data/scalars.json")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [record["step"] for record in records if "classification/top1" in record] == [2, 4]


@pytest.mark.slow
def test_it_stops_early(tmp_path: Path) -> None:
    path = write_classifier(tmp_path, iterations=30, more="val_interval=1, patience=2")
    path.write_text(path.read_text().replace("lr=0.003", "lr=1e-9"))  # it learns nothing, and so gets no better
    _, run, (note,) = started(path)
    assert run.iterations == 3
    assert note.endswith("at iteration 1 of 3; stopped before 30: no better figure in 2 validations")


@pytest.mark.slow
def test_an_interrupted_training_goes_on_and_keeps_what_was_better(tmp_path: Path) -> None:
    path = write_classifier(tmp_path)

    def stop(words: str, done: int, _total: int) -> None:
        if words.startswith("training, ") and done == 3:  # after the validation at 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        started(path, progress=stop)
    _, recipe = config_and_recipe(path)
    checkpoint = last_checkpoint(tmp_path / "work")
    before = read_run(checkpoint)
    run = resume_run(begin_run(path, recipe, amp=False), before, seed=None)
    hook = BestWeights("classification/top1", tmp_path / "work", RunInCheckpoint(run).so_far)
    assert hook.best is not None
    assert hook.best.iteration == 2
    _, run, _ = started(path, run=run, resume=checkpoint)
    assert (run.iterations, run.resumed) == (4, 1)
    # a training that begins anew, and another one, do not take these weights for theirs
    for other in (replace(run, resumed=0), replace(run, began="another")):
        assert BestWeights("classification/top1", tmp_path / "work", RunInCheckpoint(other).so_far).best is None


@pytest.mark.parametrize("interval", [2, 4])
def test_a_validation_that_was_cut_off_is_made_up_for(
    interval: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_classifier(tmp_path, more=f"val_interval={interval}")
    figures = Validation.figures
    calls = []

    def stopped(validation: Validation, model: nn.Module, folder: Path) -> Mapping[str, float]:
        calls.append(1)
        if len(calls) == 4 // interval:
            raise KeyboardInterrupt
        return figures(validation, model, folder)

    monkeypatch.setattr(Validation, "figures", stopped)
    with pytest.raises(KeyboardInterrupt):
        started(path)
    monkeypatch.undo()
    _, recipe = config_and_recipe(path)
    checkpoint = last_checkpoint(tmp_path / "work")
    assert read_run(checkpoint).iterations == 4
    for _ in range(2):  # the second time nothing is left to do
        run = resume_run(begin_run(path, recipe, amp=False), read_run(checkpoint), seed=None)
        _, run, (note,) = started(path, run=run, resume=checkpoint)
        assert " of 4" in note
    logs = sorted((tmp_path / "work").glob("*/vis_data/scalars.json"))
    records = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    steps = [record["step"] for record in records if "classification/top1" in record]
    assert steps == list(range(interval, 5, interval))


def test_a_start_that_fails_leaves_what_an_earlier_run_goes_on_from(tmp_path: Path) -> None:
    path = write_classifier(tmp_path)
    started(path)
    before = last_checkpoint(tmp_path / "work")
    with pytest.raises(InputError, match="no such file"):
        started(write_classifier(tmp_path, more="load_from='gone.pth'"))
    assert last_checkpoint(tmp_path / "work") == before


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), "train.batch_size 4: the GPU does not have enough memory"),
        (
            ValueError("Expected more than 1 value per channel when training"),
            "train.batch_size 4: batch norm needs at least 2",
        ),
    ],
)
def test_a_batch_that_does_not_fit_is_one_line(
    error: Exception, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("pipeline.training.trainable.Trainable.forward", failing)
    with pytest.raises(InputError, match=message):
        started(write_classifier(tmp_path))


def test_a_figure_that_is_no_number_is_not_the_best(tmp_path: Path) -> None:
    _, recipe = config_and_recipe(write_classifier(tmp_path))
    run = begin_run(tmp_path / "classifier.py", recipe, amp=False)
    hook = BestWeights("ap", tmp_path, lambda iterations: replace(run, iterations=iterations, minutes=iterations / 2))
    runner = SimpleNamespace(iter=0, model=SimpleNamespace(model=nn.Linear(1, 1)))
    for iteration, figure in enumerate([float("nan"), 3.0, float("nan"), 2.0]):
        runner.iter = iteration
        hook.after_val_epoch(cast(Runner, runner), {"ap": figure})
    assert hook.best == (3.0, 1)
    record = read_run(tmp_path / NAME)
    assert (record.iterations, record.minutes) == (1, 0.5)


@pytest.mark.slow
def test_what_it_started_from_need_not_be_given_again(tmp_path: Path) -> None:
    path = write_classifier(tmp_path)
    config = load_config(path)
    before = begin_run(path, Recipe.from_config(config, load_from="/weights.pth"), amp=False)
    run = resume_run(begin_run(path, Recipe.from_config(config), amp=False), before, seed=None)
    assert run.recipe is not None
    assert run.recipe["load_from"] == "/weights.pth"


@pytest.mark.slow
def test_a_killed_training_goes_on(tmp_path: Path) -> None:
    path = write_classifier(tmp_path, iterations=400, more="val_interval=10")
    work = tmp_path / "work"
    command = [sys.executable, "-m", "zooport", "train", str(path), "--work-dir", str(work), "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    deadline = time.monotonic() + 600
    while not ((work / NAME).is_file() and (work / "last_checkpoint").is_file()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    stopped = read_run(last_checkpoint(work))
    assert stopped.iterations < 400
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert f"after {stopped.iterations} of 400 iterations" in done.stdout
    assert f"weights: {work / 'best.safetensors'}" in done.stdout
    assert "best classification/top1 100.00 at iteration" in done.stdout


def test_validation_changes_nothing_that_is_random_and_no_log(tmp_path: Path) -> None:
    config = load_config(write_classifier(tmp_path))
    model = build_model(config, weights=False)
    drawn = []
    for validates in (False, True):
        torch.manual_seed(3)
        random.seed(3)
        np.random.seed(3)  # noqa: NPY002 - mmengine seeds the old one
        before = logging.root.manager.disable
        if validates:
            assert "classification/top1" in Validation(config).figures(model, tmp_path)
        drawn.append((torch.rand(1).item(), random.random(), np.random.rand()))  # noqa: NPY002 - as above
    assert drawn[0] == drawn[1]
    assert logging.root.manager.disable == before


def test_a_killed_write_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "iter_2.pth"
    WholeFiles().put(b"old", file)

    def killed(path: Path, content: bytes) -> None:
        path.write_bytes(content[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr("zoo.files.writing.write_synced", killed)
    with pytest.raises(KeyboardInterrupt):
        WholeFiles().put(b"new", file)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_killed_while_the_name_of_the_last_checkpoint_was_written(tmp_path: Path) -> None:
    (tmp_path / "last_checkpoint").touch()
    for age, name in enumerate(("iter_30.pth", "iter_20.pth")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(age, age))
    assert last_checkpoint(tmp_path) == tmp_path / "iter_20.pth"  # the other one is of an earlier training


def test_two_trainings_into_one_folder(tmp_path: Path) -> None:
    path = write_classifier(tmp_path)
    with (
        locked(tmp_path / "work"),
        pytest.raises(InputError, match=r"work: process \d+ is writing into it right now; .* another --work-dir"),
    ):
        started(path)


class TestDataIsCheckedFirst:
    def test_images_that_are_broken(self, tmp_path: Path) -> None:
        config = load_config(write_classifier(tmp_path))
        for name in ("0.png", "2.png"):
            image = tmp_path / "train/dark" / name
            image.write_bytes(image.read_bytes()[:-200])
        with pytest.raises(InputError) as caught:
            own_dataset(config)
        assert str(caught.value).startswith("dataset ClassFolders has 2 faults: ")
        assert str(caught.value).count("give a whole image file") == 2

    def test_a_truth_that_the_task_does_not_learn_from(self, tmp_path: Path) -> None:
        path = write_classifier(tmp_path)
        text = path.read_text().replace('type="ClassFolders"', 'type="ImageFolder", pattern="**/*"', 1)
        path.write_text(text)
        with pytest.raises(InputError, match="ImageFolder has no label, which image-classification learns"):
            own_dataset(load_config(path))

    def test_nothing_to_validate_on(self, tmp_path: Path) -> None:
        path = write_classifier(tmp_path)
        path.write_text(path.read_text().replace('evaluator = dict(type="Accuracy")\n', ""))
        with pytest.raises(
            InputError, match=r"training includes validation, and there is no evaluator; add evaluator=dict"
        ):
            check_recipe_data(load_config(path))

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (
                "pretrain=dict(iterations=2, batch_size=4, side=32, lr=0.1)",
                "pretrain: learns from digits; leave it out",
            ),
            ("num_scenes=3", "num_scenes: of generated digits; leave it out"),
            ('load_from="a", backbone="b"', "load_from and backbone: both say what to start from; give one of them"),
            ("patience=0", 'argument "patience": got 0, expected 1 or more'),
            ("mirror=1", 'argument "mirror": got 1, expected bool or None'),
        ],
    )
    def test_recipes(self, more: str, message: str, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=message):
            config_and_recipe(write_classifier(tmp_path, more=more))

    def test_recipes_without_data_of_ones_own(self, tmp_path: Path) -> None:
        path = write_classifier(tmp_path, more="patience=3")
        path.write_text("\n".join(line for line in path.read_text().splitlines() if "train_dataset" not in line))
        with pytest.raises(InputError, match="patience: for data of your own; give the config a train_dataset"):
            config_and_recipe(path)


class TestWeightsToStartFrom:
    def weights(self, folder: Path, classes: int, channels: int = 4) -> Path:
        path = write_classifier(folder)
        text = path.read_text().replace("num_classes=2", f"num_classes={classes}")
        text = text.replace(
            "base_channels=4), in_channels=32", f"base_channels={channels}), in_channels={8 * channels}"
        )
        other = folder / "other.py"
        other.write_text(text)
        torch.manual_seed(1)
        file = folder / "other.pth"
        torch.save(build_model(other, weights=False).state_dict(), file)
        return file

    def test_a_head_for_other_classes_starts_anew_and_that_is_reported(self, tmp_path: Path) -> None:
        file = self.weights(tmp_path, classes=10)
        path = write_classifier(tmp_path, more='load_from="other.pth"')
        config, recipe = config_and_recipe(path)
        notes: list[str] = []
        model = starting_model(config, recipe, notes.append)
        loaded: dict[str, Tensor] = torch.load(file, weights_only=True)
        count = len(loaded)
        (note,) = notes
        assert note.startswith(
            f"starts from other.pth: {count - 2} of {count} tensors; random, because the shapes differ: "
        )
        assert note.endswith("fc.weight [2, 32] for [10, 32], fc.bias [2] for [10]")
        state = model.state_dict()
        assert all(torch.equal(state[name], tensor) for name, tensor in loaded.items() if not name.startswith("fc."))
        assert state["fc.weight"].std() > 0

    def test_weights_of_another_model_are_refused(self, tmp_path: Path) -> None:
        wider = self.weights(tmp_path, classes=2, channels=8)
        model = build_model(tmp_path / "classifier.py", weights=False)
        with pytest.raises(InputError, match=r"other.pth is not of this model: of \d+ tensors \d+ of another shape"):
            load_fitting(model, wider)
        torch.save({"a": torch.zeros(1)}, tmp_path / "a.pth")
        with pytest.raises(InputError, match=r"a.pth is not of this model: of \d+ tensors \d+ missing"):
            load_fitting(model, tmp_path / "a.pth")
