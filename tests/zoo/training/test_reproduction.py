"""A reproduction counts where it is whole, and its main figure is that of the published weights."""

from dataclasses import replace

import pytest
import torch
from mmengine.config import Config
from torch import nn

from tests.zoo.training.cards import CONFIG, again, run
from zoo.errors import GateError, InputError
from zoo.training import Recipe, check_figures, check_whole, half_precision_file, main_metric, reproduction

METRIC = "segmentation/mIoU"
RECIPE = Recipe(iterations=4, batch_size=1, optimizer={}, crop=(64, 64), size=(64, 64))


@pytest.mark.parametrize("change", [-3.0, -0.01, 0.0, 3.0])
def test_within(change: float) -> None:
    check_figures(again(60.0, change), CONFIG, METRIC)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (-3.01, rf"{CONFIG}: {METRIC} is 60\.00, -3\.01 from the published weights; expected at most 3\.0 .* mend the"),
        (3.01, r"\+3\.01 from the published weights; .* publish the new weights"),
    ],
)
def test_outside(change: float, message: str) -> None:
    with pytest.raises(GateError, match=message):
        check_figures(again(60.0, change), CONFIG, METRIC)


def test_nothing_to_judge_proves_nothing() -> None:
    with pytest.raises(GateError, match="has nothing to judge"):
        check_figures(again(None, None), CONFIG, METRIC)


def test_only_a_whole_run_counts() -> None:
    check_whole(run(iterations=4), RECIPE)
    with pytest.raises(InputError, match="written after 3 iterations, the recipe has 4; give the last one"):
        check_whole(run(iterations=3), RECIPE)


def test_what_is_recorded() -> None:
    model = nn.Linear(1, 1)
    ours, theirs = {CONFIG: {METRIC: 60.0}}, {CONFIG: {METRIC: 61.5}}
    found = reproduction(run(seed=9), model, ours, theirs)
    assert (found.seed, found.figures, found.differences) == (9, ours, {CONFIG: {METRIC: -1.5}})
    with torch.no_grad():
        model.weight += 1
    assert reproduction(run(), model, ours, theirs).sha256 != found.sha256
    assert len(half_precision_file(model)) > 0
    assert replace(found, seed=0) == reproduction(run(), _before(model), ours, theirs)


def _before(model: nn.Linear) -> nn.Linear:
    with torch.no_grad():
        model.weight -= 1
    return model


@pytest.mark.parametrize(
    ("evaluator", "name"),
    [({"type": "CocoBoxAP"}, "coco/box_AP"), ({"type": "MeanIoU", "num_classes": 2}, "segmentation/mIoU")],
)
def test_the_main_figure_is_the_metrics_own(evaluator: dict[str, object], name: str) -> None:
    assert main_metric(Config({"evaluator": evaluator})) == name
